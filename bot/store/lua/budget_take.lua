#!lua flags=allow-oom
-- Counts all messages of a turn or none, and once, however often the turn asks.
local counter = KEYS[1]
local turn, messages, message_limit, token_limit, ttl = unpack(ARGV)
local used = redis.call('HMGET', counter, 'messages', 'tokens', turn)
if used[3] then
    return ''
end
if token_limit ~= '0' and tonumber(used[2] or 0) >= tonumber(token_limit) then
    return 'tokens'
end
if message_limit ~= '0' and tonumber(used[1] or 0) + messages > tonumber(message_limit) then
    return 'messages'
end
redis.call('HSET', counter, 'messages', (used[1] or 0) + messages, turn, messages)
redis.call('EXPIRE', counter, ttl)
return ''
