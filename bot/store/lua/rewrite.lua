#!lua flags=allow-oom
-- Replaces entries of the history; one without a replacement is deleted, and so is a stale summary.
local lease, history, summary = unpack(KEYS)
local token, stale = unpack(ARGV) -- then for each entry the old one and the new one
if is_lost(lease, token) then return LEASE_LOST end
if stale == 'stale' then
    redis.call('DEL', summary)
end
for i = 3, #ARGV, 2 do
    local old, new = ARGV[i], ARGV[i + 1]
    if new == '' then
        redis.call('LREM', history, 1, old)
    else
        local index = redis.call('LPOS', history, old)
        if index then
            redis.call('LSET', history, index, new)
            bound_history(history, new)
        end
    end
end
