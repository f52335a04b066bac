#!lua flags=allow-oom
local totals, users, conversations = unpack(KEYS)
local ttl, ranked, tokens, user, conversation = unpack(ARGV)

local function rank(names, name)
    if name ~= '' then
        redis.call('ZINCRBY', names, tokens, name)
        redis.call('ZREMRANGEBYRANK', names, 0, -ranked - 1)
        redis.call('EXPIRE', names, ttl)
    end
end

rank(users, user)
rank(conversations, conversation)
for i = 6, #ARGV, 2 do
    redis.call('HINCRBY', totals, ARGV[i], ARGV[i + 1])
end
redis.call('EXPIRE', totals, ttl)
return redis.call('HINCRBY', totals, 'tokens', tokens)
