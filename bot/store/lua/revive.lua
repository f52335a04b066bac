#!lua flags=allow-oom
-- Puts a dead letter's delivery back into the outbox, or its messages into the inbox; 0 where it no longer exists.
local inbox, outbox, due, dead = unpack(KEYS)
local conversation, id, delivery = unpack(ARGV)
local letter = redis.call('XRANGE', dead, id, id)[1]
if not letter then
    return 0
end
local fields = letter[2]
for i = 1, #fields, 2 do
    if fields[i] == 'delivery' then
        redis.call('RPUSH', outbox, delivery)
        redis.call('EXPIRE', outbox, WORK_S)
    elseif string.sub(fields[i], 1, 7) == 'arrival' then
        redis.call('RPUSH', inbox, fields[i + 1])
        redis.call('EXPIRE', inbox, WORK_S)
    end
end
redis.call('XDEL', dead, id)
due_at(due, conversation, now_ms())
return 1
