#!lua
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
local waiting = redis.call('RPUSH', inbox, ARGV[2])
if ARGV[3] == '' and waiting > INBOX_FEW and (waiting > INBOX_ENTRIES or size_of(inbox) > INBOX_BYTES) then
    redis.call('RPOP', inbox)
    redis.call('DEL', seen)
    return 3
end
redis.call('EXPIRE', inbox, WORK_S)
if redis.call('EXISTS', lease) == 1 then
    -- Whoever holds it looks here again before leaving; should they die, the conversation is due when it expires.
    return 2
end
due_at(now_ms())
return 1
