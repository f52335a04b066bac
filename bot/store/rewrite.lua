#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
for i = 3, #ARGV, 2 do
    local old, new = ARGV[i], ARGV[i + 1]
    if new == '' then
        redis.call('LREM', history, 1, old)
    else
        local place = redis.call('LPOS', history, old)
        if place then
            redis.call('LSET', history, place, new)
        end
    end
end
