#!lua flags=allow-oom
if redis.call('EXISTS', seen_before) == 1 or not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
redis.call('SET', seen_before, '', 'EX', SEEN_BEFORE_S)
redis.call('RPUSH', outbox, ARGV[2])
redis.call('EXPIRE', outbox, WORK_S)
due_at(now_ms())
return 1
