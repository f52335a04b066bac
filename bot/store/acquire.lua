#!lua flags=allow-oom
if redis.call('EXISTS', lease) == 1 then
    return false
end
if ARGV[3] == 'wanted' and not redis.call('ZSCORE', due, conversation) then
    return false
end
local token = redis.call('INCR', fence)
redis.call('EXPIRE', fence, INDEX_S)
redis.call('SET', lease, token, 'PX', ARGV[2])
due_at(now_ms() + ARGV[2])
return {token, redis.call('LLEN', outbox)}
