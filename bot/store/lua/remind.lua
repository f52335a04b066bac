#!lua
local id, author, at, most, body = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6]
if redis.call('HEXISTS', reminders, id) == 1 then
    return 1
end
local theirs = 0
for _, kept in ipairs(redis.call('HVALS', reminders)) do
    if is_by(kept, author) then
        theirs = theirs + 1
    end
end
if theirs >= most then
    return 0
end
redis.call('HSET', reminders, id, author .. '\n' .. body)
alarm_at(id, at)
return 1
