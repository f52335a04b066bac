#!lua flags=allow-oom
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
redis.call('RPUSH', outbox, ARGV[2])
redis.call('EXPIRE', outbox, WORK_S)
due_at(now_ms())
return 1
