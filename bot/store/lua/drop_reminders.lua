#!lua flags=allow-oom
local whose, author, only = ARGV[2], ARGV[3], ARGV[4]
local dropped = 0
local kept = redis.call('HGETALL', reminders)
for index = 1, #kept, 2 do
    local id = kept[index]
    if (whose == 'all' or is_by(kept[index + 1], author)) and (only == '' or only == id) then
        redis.call('HDEL', reminders, id)
        redis.call('ZREM', alarms, alarm_of(id))
        dropped = dropped + 1
    end
end
return dropped
