#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
if redis.call('HGET', turn, 'reason') ~= ARGV[3] then
    redis.call('HSET', turn, 'reason', ARGV[3], 'failures', 0)
end
local failures = redis.call('HINCRBY', turn, 'failures', 1)
local retry_at = now_ms() + ARGV[4] * 2 ^ (failures - 1)
redis.call('HSET', turn, 'retry_at', retry_at)
keep_turn()
return {failures, retry_at}
