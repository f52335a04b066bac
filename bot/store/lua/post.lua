#!lua flags=allow-oom
local most = tonumber(ARGV[3])
if most > 0 and redis.call('LLEN', outbox) >= most then
    return 0
end
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
redis.call('RPUSH', outbox, ARGV[2])
redis.call('EXPIRE', outbox, WORK_S)
due_at(now_ms())
return 1
