#!lua flags=allow-oom
-- The poll as it stands. With a pause it is shown now, or the answer is when it may be: not so soon after the last time.
local poll = unpack(KEYS)
local pause = unpack(ARGV)
local body, options, voters, closed, shown = unpack(
    redis.call('HMGET', poll, 'body', 'options', 'voters', 'closed', 'shown'))
if not body then
    return false
end
if pause ~= '' then
    local now, next_at = now_ms(), (tonumber(shown) or 0) + pause -- in milliseconds
    if next_at > now then
        return next_at
    end
    redis.call('HSET', poll, 'shown', now)
    redis.call('HDEL', poll, 'shows')
end
local counts = {}
for option = 1, tonumber(options) do
    counts[option] = tonumber(redis.call('HGET', poll, 'count:' .. option) or 0)
end
return {body, closed and 1 or 0, tonumber(voters or 0), counts}
