#!lua flags=allow-oom
-- Stores an unmentioned message of a group, if it is given. In place of an old entry it is stored with that one's time; without
-- that entry it is not stored.
local background = unpack(KEYS)
local at, entry, old, most, kept_s = unpack(ARGV)
if old ~= '' then
    at = entry ~= old and redis.call('ZSCORE', background, old)
    if at then redis.call('ZREM', background, old) end
end
if at and entry ~= '' then
    redis.call('ZADD', background, at, entry)
    redis.call('ZREMRANGEBYSCORE', background, '-inf', now_ms() - kept_s * 1000)
    redis.call('ZREMRANGEBYRANK', background, 0, -most - 1)
    redis.call('EXPIRE', background, kept_s)
end
