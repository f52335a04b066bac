#!lua flags=allow-oom
-- Keeps an unmentioned message of a group for a while; the oldest of too many goes.
local at, entry = ARGV[2], ARGV[3]
redis.call('ZADD', background, at, entry)
redis.call('ZREMRANGEBYSCORE', background, '-inf', now_ms() - BACKGROUND_S * 1000)
redis.call('ZREMRANGEBYRANK', background, 0, -BACKGROUND_MESSAGES - 1)
redis.call('EXPIRE', background, BACKGROUND_S)
