#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
for i = 3, #ARGV do
    if redis.call('LREM', inbox, 1, ARGV[i]) == 1 then
        redis.call('RPUSH', journal, ARGV[i])
    end
end
keep_turn()
