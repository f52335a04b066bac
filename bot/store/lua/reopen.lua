#!lua flags=allow-oom
-- Goes on with the turn that was committed last; the entries of the turn under way, which has no step, wait for it.
if lease_lost() then return LEASE_LOST end
local turn_id, new_id, delivery = ARGV[3], ARGV[4], ARGV[5]
local newest = redis.call('LINDEX', history, -1)
local is_newest = newest and string.find(newest, '"turn_id":"' .. turn_id .. '"', 1, true)
if not is_newest or redis.call('LLEN', answered) < 2 then
    return 0
end
local waits = delivery ~= ''
for i = 6, #ARGV do
    -- A late answer may have been fetched meanwhile.
    waits = redis.call('LREM', outbox, 1, ARGV[i]) + redis.call('LREM', late, 1, ARGV[i]) > 0 or waits
end
if not waits then
    return 0
end
redis.call('RPOP', history)
while redis.call('LMOVE', journal, inbox, 'RIGHT', 'LEFT') do end
redis.call('EXPIRE', inbox, WORK_S)
redis.call('RPOP', answered) -- the frame that commit has added
redis.call('RENAME', answered, journal)
redis.call('DEL', turn)
redis.call('HSET', turn, 'id', new_id)
keep_turn()
if delivery ~= '' then
    redis.call('RPUSH', outbox, delivery)
    redis.call('EXPIRE', outbox, WORK_S)
end
return 1
