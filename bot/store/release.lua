#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('DEL', lease)
local waiting = redis.call('EXISTS', inbox)
if redis.call('EXISTS', inbox, journal, outbox) == 0 then
    redis.call('ZREM', due, conversation)
elseif ARGV[3] == '' or waiting == 1 then
    -- A message may have come in since the holder chose its time to come back: it must not wait for that.
    due_at(now_ms())
else
    due_at(ARGV[3])
end
return waiting
