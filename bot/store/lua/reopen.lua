#!lua flags=allow-oom
-- Goes on with the turn that was committed last; the entries of the turn under way, which has no step, wait for it.
if lease_lost() then return LEASE_LOST end
local turn_id, new_id, delivery = ARGV[3], ARGV[4], ARGV[5]
local newest = redis.call('LINDEX', history, -1)
local is_newest = newest and string.find(newest, '"turn_id":"' .. turn_id .. '"', 1, true)
if not is_newest or redis.call('LLEN', answered) < 2 then
    return 0
end
if not remove_waiting(6) and delivery == '' then
    return 0
end
redis.call('RPOP', history)
give_way()
redis.call('RPOP', answered) -- the frame that commit has added
redis.call('RENAME', answered, journal)
go_on(new_id, delivery)
return 1
