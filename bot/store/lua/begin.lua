#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
return begin_turn(ARGV[3], ARGV[4])
