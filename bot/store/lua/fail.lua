#!lua flags=allow-oom
-- Counts a failure of the turn; returns how often it failed for this reason, and when to try again.
local lease, turn, journal = unpack(KEYS)
local token, reason, rest_ms = unpack(ARGV)
if is_lost(lease, token) then return LEASE_LOST end
if redis.call('HGET', turn, 'reason') ~= reason then
    redis.call('HSET', turn, 'reason', reason, 'failures', 0)
end
local failures = redis.call('HINCRBY', turn, 'failures', 1)
local retry_at = now_ms() + rest_ms * 2 ^ (failures - 1)
redis.call('HSET', turn, 'retry_at', retry_at)
keep_turn(turn, journal)
return {failures, retry_at}
