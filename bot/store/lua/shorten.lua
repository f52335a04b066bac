#!lua flags=allow-oom
-- Halves the history; returns how many turns went.
local lease, history = unpack(KEYS)
local least = unpack(ARGV)
if redis.call('EXISTS', lease) == 1 then
    -- The holder may have read the history. Without a lease nobody can start before this script has ended.
    return 0
end
local turns = redis.call('LLEN', history)
local kept = math.min(turns, math.max(math.floor(turns / 2), least))
redis.call('LTRIM', history, turns - kept, -1)
return turns - kept
