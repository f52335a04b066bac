#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local frame, delivery = ARGV[3], ARGV[4]
if frame ~= '' and redis.call('EXISTS', turn) == 1 then
    redis.call('RPUSH', journal, frame)
    redis.call('HSET', turn, 'starts', 0)
end
if delivery ~= '' then
    redis.call('RPUSH', outbox, delivery)
    redis.call('EXPIRE', outbox, WORK_S)
end
for i = 5, #ARGV do
    redis.call('LREM', inbox, 1, ARGV[i])
end
keep_turn()
return redis.call('LLEN', inbox)
