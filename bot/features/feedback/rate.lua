#!lua
-- Keeps somebody's rating of an answer. Of two the later one stays, in whatever order they come. Whether it is news.
local ratings = unpack(KEYS)
local field, at, mark, body, most, ttl = unpack(ARGV)
local was = redis.call('HGET', ratings, field)
local earlier, before = string.match(was or '', '^(%d+) (%d)')
if earlier and tonumber(earlier) >= tonumber(at) then
    return 0
end
if not was and redis.call('HLEN', ratings) >= tonumber(most) then
    return 0
end
redis.call('HSET', ratings, field, at .. ' ' .. mark .. ' ' .. body)
redis.call('EXPIRE', ratings, ttl)
return before ~= mark and 1 or 0
