#!lua flags=allow-oom
-- Appends a delivery that belongs to no turn, once for its id, unless too many wait, or too many that hold a mark.
local outbox, due, seen = unpack(KEYS)
local conversation, delivery, most, mark, most_alike = unpack(ARGV)
if most ~= '0' and redis.call('LLEN', outbox) >= tonumber(most) then
    return 0
end
if most_alike ~= '0' then
    local alike = 0
    for _, waiting in ipairs(redis.call('LRANGE', outbox, 0, -1)) do
        alike = alike + (string.find(waiting, mark, 1, true) and 1 or 0)
    end
    if alike >= tonumber(most_alike) then
        return 0
    end
end
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
redis.call('RPUSH', outbox, delivery)
redis.call('EXPIRE', outbox, WORK_S)
due_at(due, conversation, now_ms())
return 1
