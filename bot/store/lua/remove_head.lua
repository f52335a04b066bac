#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local question, shown_at = ARGV[3], ARGV[4]
redis.call('LPOP', outbox)
if question ~= '' and redis.call('EXISTS', turn) == 1 then
    redis.call('HSET', turn, 'shown', string.format('%d %s', tonumber(shown_at) or now_ms(), question))
end
return redis.call('LINDEX', outbox, 0)
