#!lua flags=allow-oom
-- Keeps the head of the outbox until its asker fetches it; the oldest of too many becomes a dead letter.
if lease_lost() then return LEASE_LOST end
local name, reason = ARGV[3], ARGV[4]
local delivery = redis.call('LPOP', outbox)
if delivery then
    if redis.call('RPUSH', late, name .. '\n' .. delivery) > LATE_ANSWERS then
        local oldest = redis.call('LPOP', late)
        add_dead_letter('reason', reason, 'delivery', string.sub(oldest, string.find(oldest, '\n', 1, true) + 1, -1))
    end
    redis.call('EXPIRE', late, WORK_S)
end
return redis.call('LINDEX', outbox, 0)
