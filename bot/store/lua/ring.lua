#!lua flags=allow-oom
-- Moves a reminder whose time has come into the inbox, and sets its next time if it repeats.
local inbox, lease, due, reminders, alarms, seen = unpack(KEYS)
local conversation, id, at, event_id, body, next_at, next_body = unpack(ARGV)
local alarm = conversation .. ' ' .. id
if redis.call('ZSCORE', alarms, alarm) ~= at then
    return 0 -- another process was first, or the reminder has been cancelled
end
local author = string.match(redis.call('HGET', reminders, id) or '', '^[^\n]*')
if next_at == '' then
    redis.call('ZREM', alarms, alarm)
    redis.call('HDEL', reminders, id)
else
    redis.call('HSET', reminders, id, author .. '\n' .. next_body)
    alarm_at(alarms, reminders, conversation, id, next_at)
end
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
local now = now_ms()
push_inbound(inbox, 'aside', event_id, body, now)
redis.call('EXPIRE', inbox, WORK_S)
if redis.call('EXISTS', lease) == 1 then
    return 2 -- the holder reads the inbox again before releasing the lease
end
due_at(due, conversation, now)
return 1
