#!lua flags=allow-oom
-- Takes a value whose time has come into the inbox, and sets its next time if it has one.
local inbox, lease, due, values, times, seen = unpack(KEYS)
local conversation, id, at, event_id, event, next_at, next_value = unpack(ARGV)
local member = conversation .. ' ' .. id
if redis.call('ZSCORE', times, member) ~= at then
    return 0 -- another process was first, or the value has been deleted
end
if next_at == '' then
    redis.call('ZREM', times, member)
    redis.call('HDEL', values, id)
else
    redis.call('HSET', values, id, next_value)
    schedule_at(times, values, conversation, id, next_at)
end
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
local now = now_ms()
push_inbound(inbox, 'aside', event_id, event, now)
redis.call('EXPIRE', inbox, WORK_S)
if redis.call('EXISTS', lease) == 1 then
    return 2 -- the holder reads the inbox again before releasing the lease
end
due_at(due, conversation, now)
return 1
