#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('LSET', outbox, 0, ARGV[3])
redis.call('EXPIRE', outbox, WORK_S)
