#!lua flags=allow-oom
-- Counts messages, all of them or none, once for each key; without a key each time. And tokens, which no limit refuses.
-- Returns whether the messages are within the limit.
local counter = unpack(KEYS)
local key, messages, tokens, limit, ttl = unpack(ARGV)
local used = redis.call('HMGET', counter, 'messages', 'tokens', key)
local before, is_counted = used[1] or 0, used[3]
if is_counted then
    messages = 0
elseif limit ~= '0' and before + messages > tonumber(limit) then
    return 0
end
local fields = {'messages', before + messages, 'tokens', (used[2] or 0) + tokens}
if key ~= '' and not is_counted then
    table.insert(fields, key)
    table.insert(fields, messages)
end
redis.call('HSET', counter, unpack(fields))
redis.call('EXPIRE', counter, ttl)
return 1
