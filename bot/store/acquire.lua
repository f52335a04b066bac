#!lua flags=allow-oom
if redis.call('EXISTS', lease) == 1 then
    return false
end
if ARGV[3] == 'due' then
    local wanted_at = redis.call('ZSCORE', due, conversation)
    if not wanted_at or tonumber(wanted_at) > now_ms() then
        return false
    end
end
local token = redis.call('INCR', fence)
redis.call('EXPIRE', fence, INDEX_S)
redis.call('SET', lease, token, 'PX', ARGV[2])
due_at(now_ms() + ARGV[2])
return {token, redis.call('LLEN', outbox)}
