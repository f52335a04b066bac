#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
if redis.call('EXISTS', turn) == 0 then
    if redis.call('EXISTS', inbox) == 0 then
        return false
    end
    redis.call('RENAME', inbox, journal)
    redis.call('HSET', turn, 'id', ARGV[3])
end
local starts = redis.call('HINCRBY', turn, 'starts', 1)
keep_turn()
local id, retry_at, shown = unpack(redis.call('HMGET', turn, 'id', 'retry_at', 'shown'))
local not_before = tonumber(retry_at) or 0
if not_before <= now_ms() then
    not_before = 0
end
return {id, starts, redis.call('LRANGE', journal, 0, -1), not_before, shown or ''}
