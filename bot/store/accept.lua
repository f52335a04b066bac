#!lua
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 0
end
redis.call('RPUSH', inbox, ARGV[2])
redis.call('EXPIRE', inbox, WORK_S)
due_at(now_ms())
return 1
