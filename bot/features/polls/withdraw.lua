#!lua flags=allow-oom
-- Deletes a poll that somebody has started, or any without a person; of another one, what they have voted.
local poll, polls = unpack(KEYS)
local id, person = unpack(ARGV)
if person == '' or redis.call('HGET', poll, 'creator') == person then
    redis.call('DEL', poll)
    redis.call('ZREM', polls, id)
    return
end
local chosen = redis.call('HGET', poll, 'by:' .. person)
if chosen then
    for option = 1, #chosen do
        if string.sub(chosen, option, option) == '1' then
            redis.call('HINCRBY', poll, 'count:' .. option, -1)
        end
    end
    redis.call('HINCRBY', poll, 'voters', -1)
    redis.call('HDEL', poll, 'by:' .. person, 'shows') -- what was to show it may have gone too
end
