#!lua
-- Keeps a process' share of a turn among those of its hour, and counts the bytes of the hour.
local shares, sizes = unpack(KEYS)
local field, share, ttl, hour, bytes = unpack(ARGV)
redis.call('HSET', shares, field, share)
redis.call('EXPIRE', shares, ttl)
redis.call('HINCRBY', sizes, hour, bytes)
redis.call('EXPIRE', sizes, ttl)
