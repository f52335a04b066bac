#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('DEL', lease)
if tonumber(redis.call('HGET', turn, 'starts') or 0) > 0 then
    redis.call('HINCRBY', turn, 'starts', -1)
end
-- A message may have arrived since the holder chose the next time; it must not wait for that.
local waiting = redis.call('LLEN', inbox) > tonumber(ARGV[4])
if redis.call('EXISTS', inbox, journal, outbox) == 0 then
    redis.call('ZREM', due, conversation)
    if redis.call('DEL', forgetting) == 1 then
        -- The last answer has been delivered: now the append-only file can be rewritten.
        redis.call('SET', forgotten, now_ms(), 'EX', INDEX_S)
    end
elseif ARGV[3] == '' or waiting then
    due_at(now_ms())
else
    due_at(ARGV[3])
end
return waiting and 1 or 0
