#!lua flags=allow-oom
if redis.call('EXISTS', lease) == 1 then
    return false
end
if ARGV[3] == 'wanted' and not redis.call('ZSCORE', due, conversation) then
    return false
end
-- One fence for the whole shard names no person. A lost fence starts at the clock, so no token is used twice.
local token = math.max(tonumber(redis.call('GET', fence) or 0) + 1, now_ms())
redis.call('SET', fence, token, 'EX', INDEX_S)
redis.call('SET', lease, token, 'PX', ARGV[2])
due_at(now_ms() + ARGV[2])
return {token, redis.call('LLEN', outbox)}
