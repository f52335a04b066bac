#!lua
-- Adds records of words to a turn's, unless the conversation is private, or words of turns that began before were deleted. How
-- many bytes there are now; -1 where these are not kept.
local words, turns, traced = unpack(KEYS)
local turn, began_at, ttl, most, records = unpack(ARGV)
local deleted_at, private = unpack(redis.call('HMGET', traced, 'deleted_at', 'private'))
if private then
    redis.call('EXPIRE', traced, 400 * 86400)
    return -1
end
if tonumber(deleted_at or 0) >= tonumber(began_at) then
    return -1
end
local bytes = redis.call('STRLEN', words)
if bytes + #records > tonumber(most) then
    return -1
end
bytes = redis.call('APPEND', words, records)
if redis.call('TTL', words) < 0 then
    redis.call('EXPIRE', words, ttl)
    local now = now_ms()
    redis.call('ZADD', turns, now, turn)
    redis.call('ZREMRANGEBYSCORE', turns, '-inf', now - 721 * 3600 * 1000) -- no words are kept for longer
    keep_for(turns, ttl + 3600)
end
return bytes
