#!lua flags=allow-oom
-- Keeps a poll, once for its id; 0 where all the polls that may be open have votes.
local poll, polls = unpack(KEYS)
local id, creator, body, options, multiple, most, unused_s, most_s = unpack(ARGV)

-- Ends the oldest open poll without a vote: nobody may ever have seen it, where the turn that started it was given up.
local function drop_unused()
    local prefix = string.sub(poll, 1, -1 - #id)
    for _, other in ipairs(redis.call('ZRANGE', polls, 0, -1)) do
        local key = prefix .. other
        if (tonumber(redis.call('HGET', key, 'voters')) or 0) == 0 then
            redis.call('DEL', key)
            return redis.call('ZREM', polls, other) == 1
        end
    end
    return false
end

if redis.call('EXISTS', poll) == 1 then
    return 1
end
redis.call('ZREMRANGEBYSCORE', polls, '-inf', now_ms())
if redis.call('ZCARD', polls) >= tonumber(most) and not drop_unused() then
    return 0
end
local ends = now_ms() + most_s * 1000
redis.call('HSET', poll, 'creator', creator, 'body', body, 'options', options, 'multiple', multiple, 'ends', ends)
keep_poll(poll, polls, id, unused_s)
return 1
