#!lua flags=allow-oom
-- Takes the head of the outbox away, and returns the next delivery. The head
--   arrived  is gone; with a question, its turn notes when it was shown. With no work left the lease is released.
--   dead     becomes a dead letter; a step is added to the turn that waits for the decision.
--   late     is kept until its asker fetches it; the oldest of too many becomes a dead letter.
local lease, due, inbox, turn, journal, outbox, late, dead = unpack(KEYS)
local conversation, token, outcome, reason, step, question, shown_at, name = unpack(ARGV)
if is_lost(lease, token) then return LEASE_LOST end
local last = redis.call('LINDEX', journal, -1)
if step ~= '' and last and kind_of(last) == 'asked' then
    redis.call('RPUSH', journal, step)
    redis.call('HSET', turn, 'starts', 0)
    keep_turn(turn, journal)
end
local delivery = redis.call('LPOP', outbox)
if delivery and outcome == 'late' then
    if redis.call('RPUSH', late, name .. '\n' .. delivery) > LATE_ANSWERS then
        local _, oldest = string.match(redis.call('LPOP', late), '^([^\n]*)\n(.*)$')
        add_dead_letter(dead, conversation, 'reason', reason, 'delivery', oldest)
    end
    redis.call('EXPIRE', late, WORK_S)
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
