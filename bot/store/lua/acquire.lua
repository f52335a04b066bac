#!lua flags=allow-oom
if not redis.call('SET', lease, ARGV[2], 'NX', 'PX', ARGV[3]) then
    return false
end
due_at(now_ms() + ARGV[3])
return 1
