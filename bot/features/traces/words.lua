#!lua
-- Adds records of words to a turn's, unless the conversation is private, or words of turns that began before were deleted. How
-- many bytes there are now; -1 where nothing is kept.
local words, turns, traced = unpack(KEYS)
local turn, began_at, ttl, most, records = unpack(ARGV)
local deleted_at, private = unpack(redis.call('HMGET', traced, 'deleted_at', 'private'))
if private or tonumber(deleted_at or 0) >= tonumber(began_at) then
    return -1
end
local bytes = redis.call('STRLEN', words)
if bytes + #records > tonumber(most) then
    return bytes
end
bytes = redis.call('APPEND', words, records)
if redis.call('TTL', words) < 0 then
    redis.call('EXPIRE', words, ttl)
    redis.call('ZADD', turns, began_at, turn)
    redis.call('ZREMRANGEBYSCORE', turns, '-inf', began_at - 2 * ttl * 1000)
    redis.call('EXPIRE', turns, 2 * ttl)
end
return bytes
