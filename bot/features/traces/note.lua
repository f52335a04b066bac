#!lua
-- Keeps shares of turns among those of their hour, and counts the bytes of the hour, those of words apart. After the arguments:
-- of each share its field and the share.
local shares = unpack(KEYS)
local ttl, words = unpack(ARGV)
local bytes = 0
for at = 3, #ARGV, 2 do
    local field, share = ARGV[at], ARGV[at + 1]
    local before = redis.call('HSTRLEN', shares, field)
    -- A share grows; a shorter one is an older state that another connection has brought later.
    if #share >= before then
        bytes = bytes + #share - before
        if redis.call('HSET', shares, field, share) == 1 then
            redis.call('EXPIRE', shares, ttl)
        end
    end
end
redis.call('HINCRBY', shares, 'bytes', bytes)
if words ~= '0' then
    redis.call('HINCRBY', shares, 'words', words)
end
