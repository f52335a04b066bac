#!lua flags=allow-oom
-- Replaces the head of the outbox, unless one of the messages that it answers is changed and no turn has seen that.
local lease, inbox, journal, outbox = unpack(KEYS)
local token, delivery = unpack(ARGV) -- then the ids of the messages
if is_lost(lease, token) then return LEASE_LOST end
local last = redis.call('LINDEX', journal, -1)
if not last or INBOUND[kind_of(last)] then -- no turn has had a step since
    local ids = arguments(3)
    if holds_change(inbox, ids, false) or holds_change(journal, ids, false) then
        return 0
    end
end
redis.call('LSET', outbox, 0, delivery)
redis.call('EXPIRE', outbox, WORK_S)
return 1
