#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local keep_turns, turn_record = ARGV[3], ARGV[4]
if turn_record ~= '' then
    redis.call('RPUSH', history, turn_record)
    redis.call('LTRIM', history, -keep_turns, -1)
    redis.call('EXPIRE', history, HISTORY_S)
end
for i = 5, #ARGV do
    redis.call('RPUSH', outbox, ARGV[i])
end
redis.call('EXPIRE', outbox, WORK_S)
redis.call('DEL', turn, journal)
