#!lua flags=allow-oom
-- Ends the turn: its record goes to the history, its deliveries to the outbox, and its journal is deleted. Refused if the inbox holds a change of a message that the turn answers. Returns the length of the outbox.
local lease, inbox, turn, journal, history, summary, outbox, dead = unpack(KEYS)
local conversation, token, keep_turns, turn_record, given_up, attempted, only_unsent, ids = unpack(ARGV)
local first = 9 + ids -- then the ids of the messages and the deliveries
if is_lost(lease, token) then return LEASE_LOST end
if holds_change(inbox, arguments(9, first - 1), only_unsent == 'unsent') then
    local length = redis.call('LLEN', journal)
    if length > tonumber(redis.call('HGET', turn, 'refused_at') or 0) then
        -- It has come this far: no message kills its process. Where nothing has joined since the last refusal, the turn
        -- might be refused for ever, and this start counts.
        redis.call('HSET', turn, 'starts', 0, 'refused_at', length)
    end
    return MESSAGES_CHANGED
end
if given_up ~= '' then
    local lost = {}
    for _, frame in ipairs(redis.call('LRANGE', journal, 0, -1)) do
        if INBOUND[kind_of(frame)] and #lost < 2000 then
            table.insert(lost, 'arrival ' .. #lost / 2)
            table.insert(lost, frame)
        end
    end
    add_dead_letter(dead, conversation, 'reason', given_up, unpack(lost))
end
if turn_record ~= '' then
    local turns = redis.call('RPUSH', history, turn_record)
    if turns > tonumber(keep_turns) then
        redis.call('LTRIM', history, -keep_turns, -1)
    end
    bound_history(history, turn_record)
    redis.call('EXPIRE', history, HISTORY_S)
    if turns > 1 then
        redis.call('EXPIRE', summary, HISTORY_S)
    end
end
local deliveries = 0
if attempted ~= '' then
    deliveries = redis.call('RPUSH', outbox, attempted)
    if deliveries > 1 then
        redis.call('LSET', outbox, -1, ARGV[first]) -- others come first, so nobody attempts it now
    end
end
for i = attempted == '' and first or first + 1, #ARGV do
    deliveries = redis.call('RPUSH', outbox, ARGV[i])
end
if deliveries > 0 then
    redis.call('EXPIRE', outbox, WORK_S)
end
redis.call('DEL', turn, journal)
return deliveries
