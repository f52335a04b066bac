#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
if redis.call('EXISTS', inbox, journal, outbox) == 0 then
    release_idle()
    return 0
end
redis.call('DEL', lease)
if tonumber(redis.call('HGET', turn, 'starts') or 0) > 0 then
    redis.call('HINCRBY', turn, 'starts', -1)
end
-- A message or a delivery may have come since the holder chose the next time; it must not wait for that.
local waiting = redis.call('LLEN', inbox) > tonumber(ARGV[4])
    or (ARGV[5] == 'empty' and redis.call('EXISTS', outbox) == 1)
due_at((ARGV[3] == '' or waiting) and now_ms() or ARGV[3])
return waiting and 1 or 0
