#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local delivery = redis.call('LPOP', outbox)
end_answer()
if delivery then
    add_dead_letter('reason', ARGV[3], 'delivery', delivery)
end
return redis.call('LINDEX', outbox, 0)
