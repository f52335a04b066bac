#!lua
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
local kind, id, body, always, takes_back = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if takes_back ~= '' then
    redis.call('SET', unsent, '', 'NX', 'EX', SEEN_S) -- a message that has not come in yet is a duplicate when it does
end
local now = now_ms()
local stamped = string.format('%s@%d', id, now)
local waiting = redis.call('RPUSH', inbox, string.format('%s %d:%s', kind, #stamped, stamped) .. body)
local most = always == 'decides' and 2 or 1 -- an approval or rejection is accepted where messages have filled the inbox
if always ~= 'always' and waiting > INBOX_FEW * most
    and (waiting > INBOX_ENTRIES * most or size_of(inbox) > INBOX_BYTES * most) then
    redis.call('RPOP', inbox)
    redis.call('DEL', seen)
    return 3
end
redis.call('EXPIRE', inbox, WORK_S)
if redis.call('EXISTS', lease) == 1 then
    -- The holder reads the inbox again before releasing the lease; if it dies, the conversation is due at the expiry.
    return 2
end
due_at(now)
return 1
