#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('RPUSH', journal, ARGV[3])
redis.call('HSET', turn, 'starts', 0)
keep_turn()
return redis.call('EXISTS', inbox)
