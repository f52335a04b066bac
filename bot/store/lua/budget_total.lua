#!lua flags=allow-oom
-- Adds to the totals (KEYS[1]) and to the rankings (KEYS[2], KEYS[3]).
local ttl, ranked = ARGV[1], ARGV[2]
for i = 3, #ARGV, 3 do
    local name, amount = ARGV[i + 1], ARGV[i + 2]
    if ARGV[i] == '1' then
        redis.call('HINCRBY', KEYS[1], name, amount)
    else
        redis.call('ZINCRBY', KEYS[tonumber(ARGV[i])], amount, name)
    end
end
for rank = 2, 3 do
    redis.call('ZREMRANGEBYRANK', KEYS[rank], 0, -ranked - 1)
end
for _, key in ipairs(KEYS) do
    redis.call('EXPIRE', key, ttl)
end
return tonumber(redis.call('HGET', KEYS[1], 'tokens') or 0)
