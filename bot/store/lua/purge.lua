#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('DEL', history, summary, answered, background)
