#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local keep_turns, turn_record, given_up, attempted = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local answered_frame, only_unsent = ARGV[7], ARGV[8] == 'unsent'
local first = 10 + ARGV[9] -- the place of the first delivery
if is_changed_by(inbox, only_unsent, 10, first - 1) then
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
        if WAITING[kind_of(frame)] and #lost < 2000 then
            table.insert(lost, 'arrival ' .. #lost / 2)
            table.insert(lost, frame)
        end
    end
    add_dead_letter('reason', given_up, unpack(lost))
end
if turn_record ~= '' then
    local kept = redis.call('RPUSH', history, turn_record)
    if kept > tonumber(keep_turns) then
        redis.call('LTRIM', history, -keep_turns, -1)
    end
    bound_history(turn_record)
    redis.call('EXPIRE', history, HISTORY_S)
    if kept > 1 then
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
if answered_frame == '' then
    redis.call('DEL', turn, journal)
    if turn_record ~= '' then
        redis.call('DEL', answered) -- of a turn that leaves nothing, as a change does, the one before stays the newest
    end
else
    redis.call('RPUSH', journal, answered_frame)
    redis.call('RENAME', journal, answered)
    redis.call('EXPIRE', answered, ANSWERED_S)
    redis.call('DEL', turn)
end
return deliveries
