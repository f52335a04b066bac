#!lua
local id, author, at, body = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('HEXISTS', reminders, id) == 0 then
    redis.call('HSET', reminders, id, author .. '\n' .. body)
    alarm_at(id, at)
end
