#!lua flags=allow-oom
local id, body, rests = ARGV[2], ARGV[3], ARGV[4]
if rests ~= '' then
    redis.call('ZREM', alarms, alarm_of(id))
end
local kept = redis.call('HGET', reminders, id)
if not kept then
    return 0
end
redis.call('HSET', reminders, id, string.match(kept, '^[^\n]*') .. '\n' .. body)
return 1
