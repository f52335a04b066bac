#!lua flags=allow-oom
-- Replaces a delivery in the outbox, or among the late answers.
if lease_lost() then return LEASE_LOST end
for _, list in ipairs({outbox, late}) do
    local place = redis.call('LPOS', list, ARGV[3])
    if place then
        redis.call('LSET', list, place, ARGV[4])
    end
end
