#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local last = redis.call('LINDEX', journal, -1)
if not last or WAITING[kind_of(last)] then -- no turn has had a step since
    if is_changed_by(inbox, false, 4, #ARGV) or is_changed_by(journal, false, 4, #ARGV) then
        return 0
    end
end
redis.call('LSET', outbox, 0, ARGV[3])
redis.call('EXPIRE', outbox, WORK_S)
return 1
