#!lua flags=allow-oom
-- Removes a delivery that has arrived; releases the lease if no work is left.
if lease_lost() then return LEASE_LOST end
local question, shown_at = ARGV[3], ARGV[4]
redis.call('LPOP', outbox)
if redis.call('EXISTS', outbox) == 0 then
    redis.call('EXPIRE', answered, MOMENT_S)
end
if question ~= '' then
    -- Only for the question that the turn waits for: an older one may have come back from the dead letters.
    local last = redis.call('LINDEX', journal, -1)
    if last and kind_of(last) == 'asked' and string.find(last, '"id":"' .. question .. '"', 1, true) then
        redis.call('HSET', turn, 'shown', string.format('%d %d %s', tonumber(shown_at) or now_ms(), now_ms(), question))
    end
end
if redis.call('EXISTS', inbox, journal, outbox) == 0 then
    release_idle()
    return 'released'
end
return redis.call('LINDEX', outbox, 0)
