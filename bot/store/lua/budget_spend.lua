#!lua flags=allow-oom
local counter = KEYS[1]
local messages, tokens, ttl = unpack(ARGV)
redis.call('HINCRBY', counter, 'messages', messages)
redis.call('HINCRBY', counter, 'tokens', tokens)
redis.call('EXPIRE', counter, ttl)
