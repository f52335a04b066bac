#!lua flags=allow-oom
-- Removes a delivery that has arrived; releases the lease if no work is left.
if lease_lost() then return LEASE_LOST end
local question, shown_at = ARGV[3], ARGV[4]
redis.call('LPOP', outbox)
end_answer()
if question ~= '' then
    note_shown(question, shown_at)
end
if redis.call('EXISTS', inbox, journal, outbox) == 0 then
    release_idle()
    return 'released'
end
return redis.call('LINDEX', outbox, 0)
