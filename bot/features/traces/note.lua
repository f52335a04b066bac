#!lua
-- Keeps shares of turns among those of their hour, and counts the bytes of the hour, those of words apart. After the arguments:
-- of each share its field and the share.
local shares = unpack(KEYS)
local ttl, bytes, words = unpack(ARGV)
if redis.call('HSET', shares, unpack(ARGV, 4)) > 0 then
    redis.call('EXPIRE', shares, ttl)
end
redis.call('HINCRBY', shares, 'bytes', bytes)
if words ~= '0' then
    redis.call('HINCRBY', shares, 'words', words)
end
