#!lua
-- Keeps a process' share of a turn among those of its hour, and counts the bytes of the hour.
local shares = unpack(KEYS)
local field, share, ttl, total, bytes = unpack(ARGV)
if redis.call('HSET', shares, field, share) == 1 then
    redis.call('EXPIRE', shares, ttl)
end
redis.call('HINCRBY', shares, total, bytes)
