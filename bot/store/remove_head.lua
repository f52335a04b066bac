#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('LPOP', outbox)
return redis.call('LINDEX', outbox, 0)
