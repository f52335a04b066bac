#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('PEXPIRE', lease, ARGV[3])
due_at(now_ms() + ARGV[3])
