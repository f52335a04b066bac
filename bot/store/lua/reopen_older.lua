#!lua flags=allow-oom
-- Goes on with a turn that others have followed, from a journal made of its entry in the history. The entries of the turn
-- under way, which has no step, wait for it.
if lease_lost() then return LEASE_LOST end
local new_id, delivery, record, stale, frames = ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
if not redis.call('LPOS', history, record) or not remove_waiting(8 + frames) then
    return 0
end
redis.call('LREM', history, 1, record)
if stale ~= '' then
    redis.call('DEL', summary)
end
give_way()
for i = 8, 7 + frames do
    redis.call('RPUSH', journal, ARGV[i])
end
go_on(new_id, delivery)
return 1
