#!lua flags=allow-oom
-- Takes the head of the outbox away, and returns the next delivery. The head
--   arrived  is gone; with a question, its turn notes when it was shown. With no work left the lease is released.
--   dead     becomes a dead letter; a step is added to the turn that waits for the decision.
--   kept     is kept until another delivery brings it; the oldest of too many becomes a dead letter.
local lease, due, inbox, turn, journal, outbox, kept, dead = unpack(KEYS)
local conversation, token, outcome, reason, step, question, shown_at = unpack(ARGV)
if is_lost(lease, token) then return LEASE_LOST end
local last = redis.call('LINDEX', journal, -1)
if step ~= '' and last and kind_of(last) == 'parked' then
    redis.call('RPUSH', journal, step)
    redis.call('HSET', turn, 'starts', 0)
    keep_turn(turn, journal)
end
local delivery = redis.call('LPOP', outbox)
if delivery and outcome == 'kept' then
    if redis.call('RPUSH', kept, delivery) > KEPT then
        add_dead_letter(dead, conversation, 'reason', reason, 'delivery', redis.call('LPOP', kept))
    end
    redis.call('EXPIRE', kept, WORK_S)
elseif delivery and outcome == 'dead' then
    add_dead_letter(dead, conversation, 'reason', reason, 'delivery', delivery)
end
if question ~= '' then
    note_shown(journal, turn, question, shown_at)
end
if outcome == 'arrived' and redis.call('EXISTS', inbox, journal, outbox) == 0 then
    release_idle(lease, due, conversation)
    return 'released'
end
return redis.call('LINDEX', outbox, 0)
