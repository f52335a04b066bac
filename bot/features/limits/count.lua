#!lua flags=allow-oom
-- Counts messages, all of them or none, once for each key; without a key each time. And tokens, which no limit refuses.
-- And millionths of a dollar. Returns 0 if the messages are not within the limit, else the day's tokens and millionths.
local counter = unpack(KEYS)
local key, messages, tokens, limit, ttl, micros = unpack(ARGV)
local used = redis.call('HMGET', counter, 'messages', 'tokens', key, 'micros')
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
if micros ~= '0' then
    table.insert(fields, 'micros')
    table.insert(fields, (used[4] or 0) + micros)
end
redis.call('HSET', counter, unpack(fields))
redis.call('EXPIRE', counter, ttl)
return redis.call('HMGET', counter, 'tokens', 'micros')
