#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local keep_turns, turn_record, given_up = ARGV[3], ARGV[4], ARGV[5]
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
    redis.call('RPUSH', history, turn_record)
    redis.call('LTRIM', history, -keep_turns, -1)
    bound_history(turn_record)
    redis.call('EXPIRE', history, HISTORY_S)
    redis.call('EXPIRE', summary, HISTORY_S)
end
for i = 6, #ARGV do
    redis.call('RPUSH', outbox, ARGV[i])
end
redis.call('EXPIRE', outbox, WORK_S)
redis.call('DEL', turn, journal)
