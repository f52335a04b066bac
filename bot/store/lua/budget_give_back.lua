#!lua flags=allow-oom
-- Reduces the messages counted for a turn.
local counter = KEYS[1]
local turn, stays = unpack(ARGV)
local counted = redis.call('HGET', counter, turn)
if not counted then
    return
end
redis.call('HINCRBY', counter, 'messages', stays - counted)
if stays == '0' then
    redis.call('HDEL', counter, turn)
else
    redis.call('HSET', counter, turn, stays)
end
