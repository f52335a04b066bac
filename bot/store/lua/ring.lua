#!lua flags=allow-oom
local id, at, frame_id, body, next_at, next_body = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if redis.call('ZSCORE', alarms, alarm_of(id)) ~= at then
    return 0 -- another process was first, or the reminder has been cancelled
end
local author = string.match(redis.call('HGET', reminders, id) or '', '^[^\n]*')
if next_at == '' then
    redis.call('ZREM', alarms, alarm_of(id))
    redis.call('HDEL', reminders, id)
else
    redis.call('HSET', reminders, id, author .. '\n' .. next_body)
    alarm_at(id, next_at)
end
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
local now = now_ms()
local stamped = string.format('%s@%d', frame_id, now)
redis.call('RPUSH', inbox, string.format('aside %d:%s', #stamped, stamped) .. body)
redis.call('EXPIRE', inbox, WORK_S)
if redis.call('EXISTS', lease) == 1 then
    return 2 -- the holder reads the inbox again before releasing the lease
end
due_at(now)
return 1
