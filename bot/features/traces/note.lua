#!lua
-- Keeps a process' share of a turn among those of its hour, and counts the bytes of the hour, those of words apart.
local shares = unpack(KEYS)
local field, share, ttl, bytes, words = unpack(ARGV)
if redis.call('HSET', shares, field, share) == 1 then
    redis.call('EXPIRE', shares, ttl)
end
redis.call('HINCRBY', shares, 'bytes', bytes)
if words ~= '0' then
    redis.call('HINCRBY', shares, 'words', words)
end
