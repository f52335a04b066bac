#!lua
local id, creator, body, options, multiple, most = unpack(ARGV, 2)
if redis.call('EXISTS', poll) == 1 then
    return 1
end
redis.call('ZREMRANGEBYSCORE', polls, '-inf', now_ms())
if redis.call('ZCARD', polls) >= tonumber(most) then
    return 0
end
redis.call('HSET', poll, 'creator', creator, 'body', body, 'options', options, 'multiple', multiple)
keep_poll(id)
return 1
