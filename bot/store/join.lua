#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local joined = redis.call('LRANGE', inbox, 0, -1)
for _ = 1, #joined do
    redis.call('LMOVE', inbox, journal, 'LEFT', 'RIGHT')
end
keep_turn()
return joined
