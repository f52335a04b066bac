#!lua flags=allow-oom
local letter = redis.call('XRANGE', dead, ARGV[2], ARGV[2])[1]
if not letter then
    return 0
end
local fields = letter[2]
for i = 1, #fields, 2 do
    if fields[i] == 'delivery' then
        redis.call('RPUSH', outbox, ARGV[3])
        redis.call('EXPIRE', outbox, WORK_S)
    elseif string.sub(fields[i], 1, 7) == 'arrival' then
        redis.call('RPUSH', inbox, fields[i + 1])
        redis.call('EXPIRE', inbox, WORK_S)
    end
end
redis.call('XDEL', dead, ARGV[2])
due_at(now_ms())
return 1
