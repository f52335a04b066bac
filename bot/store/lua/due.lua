#!lua flags=no-writes
-- The time of the shard's clock, in milliseconds, and the members of an index whose time has come, with their times.
local due = unpack(KEYS)
local limit = unpack(ARGV)
local now = now_ms()
return {now, redis.call('ZRANGE', due, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')}
