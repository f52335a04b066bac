#!lua
-- Records one press, and has the poll shown anew unless that is to happen already. A voter's options are a row of 0 and 1.
local poll, polls, seen, outbox, due = unpack(KEYS)
local conversation, id, voter, choice, most, delivery, unused_s = unpack(ARGV)
choice = tonumber(choice)
local creator, options, multiple, closed = unpack(redis.call('HMGET', poll, 'creator', 'options', 'multiple', 'closed'))
options = tonumber(options) or 0
if not creator or choice > options then
    return 'gone'
end
if choice == 0 and voter ~= creator then
    return 'not_yours'
end
if closed then
    return 'over'
end
local chosen = redis.call('HGET', poll, 'by:' .. voter)
local voters = tonumber(redis.call('HGET', poll, 'voters') or 0)
if choice > 0 and not chosen and voters >= tonumber(most) then
    return 'full'
end
if not redis.call('SET', seen, '', 'NX', 'EX', SEEN_S) then
    return 'taken'
end
if choice == 0 then
    redis.call('HSET', poll, 'closed', 1)
    redis.call('ZREM', polls, id)
else
    local marks, any = '', false
    for option = 1, options do
        local was = chosen and string.sub(chosen, option, option) == '1' or false
        local is = was and multiple == '1'
        if option == choice then
            is = not was
        end
        if is ~= was then
            redis.call('HINCRBY', poll, 'count:' .. option, is and 1 or -1)
        end
        any = any or is
        marks = marks .. (is and '1' or '0')
    end
    if any then
        redis.call('HSET', poll, 'by:' .. voter, marks)
    else
        redis.call('HDEL', poll, 'by:' .. voter)
    end
    redis.call('HSET', poll, 'voters', voters + (any and 1 or 0) - (chosen and 1 or 0))
    keep_poll(poll, polls, id, unused_s)
end
local now, shows = now_ms(), tonumber(redis.call('HGET', poll, 'shows') or 0)
if now - shows > 60000 then -- a delivery that was given up shows nothing
    redis.call('HSET', poll, 'shows', now)
    redis.call('RPUSH', outbox, delivery)
    redis.call('EXPIRE', outbox, WORK_S)
    due_at(due, conversation, now)
end
return 'taken'
