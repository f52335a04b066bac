#!lua flags=allow-oom
-- Puts deliveries in the place of the head of the outbox.
if lease_lost() then return LEASE_LOST end
redis.call('LPOP', outbox)
for i = #ARGV, 3, -1 do
    redis.call('LPUSH', outbox, ARGV[i])
end
redis.call('EXPIRE', outbox, WORK_S)
return redis.call('LINDEX', outbox, 0)
