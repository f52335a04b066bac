#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local joined = {}
local head = redis.call('LINDEX', inbox, 0)
while head and (kind_of(head) == 'arrival' or kind_of(head) == 'change') do
    table.insert(joined, redis.call('LMOVE', inbox, journal, 'LEFT', 'RIGHT'))
    head = redis.call('LINDEX', inbox, 0)
end
keep_turn()
return joined
