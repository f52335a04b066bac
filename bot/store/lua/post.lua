#!lua flags=allow-oom
local most, mark, most_alike = tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
if most > 0 and redis.call('LLEN', outbox) >= most then
    return 0
end
local alike = 0
for _, waiting in ipairs(most_alike > 0 and redis.call('LRANGE', outbox, 0, -1) or {}) do
    alike = alike + (string.find(waiting, mark, 1, true) and 1 or 0)
    if alike == most_alike then
        return 0
    end
end
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
redis.call('RPUSH', outbox, ARGV[2])
redis.call('EXPIRE', outbox, WORK_S)
due_at(now_ms())
return 1
