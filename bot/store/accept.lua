#!lua
if redis.call('EXISTS', seen_before) == 1 or not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
redis.call('SET', seen_before, '', 'EX', SEEN_BEFORE_S)
local kind, id, body = ARGV[2], ARGV[3], ARGV[4]
local stamped = string.format('%s@%d', id, now_ms())
redis.call('RPUSH', inbox, string.format('%s %d:%s', kind, #stamped, stamped) .. body)
redis.call('EXPIRE', inbox, WORK_S)
if redis.call('EXISTS', lease) == 1 then
    -- Whoever holds it looks here again before leaving; should they die, the conversation is due when it expires.
    return 2
end
due_at(now_ms())
return 1
