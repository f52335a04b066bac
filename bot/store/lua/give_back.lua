#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
for _ = 1, ARGV[3] do
    redis.call('LMOVE', journal, inbox, 'RIGHT', 'LEFT')
end
redis.call('EXPIRE', inbox, WORK_S)
keep_turn()
