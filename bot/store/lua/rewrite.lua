#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
if ARGV[3] == 'stale' then
    redis.call('DEL', summary)
end
for i = 4, #ARGV, 2 do
    local old, new = ARGV[i], ARGV[i + 1]
    if new == '' then
        redis.call('LREM', history, 1, old)
    else
        local index = redis.call('LPOS', history, old)
        if index then
            redis.call('LSET', history, index, new)
            bound_history(new)
        end
    end
end
