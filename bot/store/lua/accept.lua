#!lua
-- Accepts an inbound event, once for its id. A full store and a full inbox refuse it.
local inbox, lease, due, early, seen, changed, index_entry = unpack(KEYS)
local conversation, kind, id, body, always, change, indexed = unpack(ARGV)
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
local is_early = change ~= '' and redis.call('EXISTS', changed) == 0 -- its message has not come in yet
if is_early and change == 'unsent' then
    redis.call('SET', changed, '', 'EX', SEEN_S) -- the message is a duplicate when it does
    redis.call('DEL', early) -- may hold its words
end
local now = now_ms()
local frame, waiting = push_inbound(inbox, kind, id, body, now)
local most = always == 'answers' and 2 or 1 -- what a turn may wait for is accepted where messages have filled the inbox
if always ~= 'always' and waiting > INBOX_FEW * most
    and (waiting > INBOX_ENTRIES * most or size_of(inbox) > INBOX_BYTES * most) then
    redis.call('RPOP', inbox)
    redis.call('DEL', seen)
    return 3
end
redis.call('EXPIRE', inbox, WORK_S)
if indexed == 'indexed' then
    redis.call('SET', index_entry, conversation, 'EX', HISTORY_S)
end
if is_early and change == 'edited' then
    redis.call('RPUSH', early, frame)
    redis.call('LTRIM', early, -EARLY_EDITS, -1)
    redis.call('EXPIRE', early, EARLY_S)
end
for _, edit in ipairs(change == '' and redis.call('LRANGE', early, 0, -1) or {}) do
    if string.find(edit, '"target":"' .. id .. '"', 1, true) then
        redis.call('RPUSH', inbox, edit) -- once more, behind its message
        redis.call('LREM', early, 1, edit)
    end
end
if redis.call('EXISTS', lease) == 1 then
    -- The holder reads the inbox again before releasing the lease; if it dies, the conversation is due at the expiry.
    return 2
end
due_at(due, conversation, now)
return 1
