#!lua flags=allow-oom
-- Counts all messages of a turn or none, and once, however often the turn asks.
local counter = KEYS[1]
local turn, messages, message_limit, token_limit, ttl = unpack(ARGV)
if redis.call('HEXISTS', counter, turn) == 1 then
    return ''
end
local used = redis.call('HMGET', counter, 'messages', 'tokens')
if token_limit ~= '0' and tonumber(used[2] or 0) >= tonumber(token_limit) then
    return 'tokens'
end
if message_limit ~= '0' and tonumber(used[1] or 0) + messages > tonumber(message_limit) then
    return 'messages'
end
redis.call('HINCRBY', counter, 'messages', messages)
redis.call('HSET', counter, turn, messages)
redis.call('EXPIRE', counter, ttl)
return ''
