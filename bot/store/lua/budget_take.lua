#!lua flags=allow-oom
-- Counts all messages of a turn or none, and once, however often the turn asks. Says what was used before that.
local counter = KEYS[1]
local turn, messages, message_limit, token_limit, ttl = unpack(ARGV)
local used = redis.call('HMGET', counter, 'messages', 'tokens', turn)
local before = {used[1] or 0, used[2] or 0}
if used[3] then
    return {'', unpack(before)}
end
if token_limit ~= '0' and tonumber(before[2]) >= tonumber(token_limit) then
    return {'tokens', unpack(before)}
end
if message_limit ~= '0' and tonumber(before[1]) + messages > tonumber(message_limit) then
    return {'messages', unpack(before)}
end
redis.call('HSET', counter, 'messages', before[1] + messages, turn, messages)
redis.call('EXPIRE', counter, ttl)
return {'', unpack(before)}
