#!lua flags=allow-oom
-- Counts tokens, and a turn's messages once, however often they are sent; a turn without an id each time.
local counter = KEYS[1]
local turn, messages, tokens, ttl = unpack(ARGV)
local used = redis.call('HMGET', counter, 'messages', 'tokens', turn)
if used[3] then
    messages = 0
end
local fields = {'messages', (used[1] or 0) + messages, 'tokens', (used[2] or 0) + tokens}
if turn ~= '' and not used[3] then
    table.insert(fields, turn)
    table.insert(fields, messages)
end
redis.call('HSET', counter, unpack(fields))
if not used[1] then
    redis.call('EXPIRE', counter, ttl)
end
