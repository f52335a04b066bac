#!lua
if lease_lost() then return LEASE_LOST end
redis.call('SET', summary, ARGV[3], 'EX', HISTORY_S)
