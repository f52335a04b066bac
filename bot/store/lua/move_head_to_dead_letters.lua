#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local reason, step = ARGV[3], ARGV[4]
local last = redis.call('LINDEX', journal, -1)
if step ~= '' and last and kind_of(last) == 'asked' then
    redis.call('RPUSH', journal, step)
    redis.call('HSET', turn, 'starts', 0)
    keep_turn()
end
local delivery = redis.call('LPOP', outbox)
end_answer()
if delivery then
    add_dead_letter('reason', reason, 'delivery', delivery)
end
return redis.call('LINDEX', outbox, 0)
