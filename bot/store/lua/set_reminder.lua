#!lua flags=allow-oom
-- Keeps a new reminder for its time. In place of the time, 'rests' and '' change one that still exists; one that rests
-- does not come again. A reminder is kept as its author's id, a line feed and its body.
local reminders, alarms = unpack(KEYS)
local conversation, id, author, at, body = unpack(ARGV)
local kept = redis.call('HGET', reminders, id)
if tonumber(at) then
    if not kept then
        redis.call('HSET', reminders, id, author .. '\n' .. body)
        alarm_at(alarms, reminders, conversation, id, at)
    end
    return
end
if at == 'rests' then
    redis.call('ZREM', alarms, conversation .. ' ' .. id)
end
if kept then
    redis.call('HSET', reminders, id, string.match(kept, '^[^\n]*') .. '\n' .. body)
end
