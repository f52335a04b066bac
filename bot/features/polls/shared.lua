-- What the scripts of polls use.

local function keep_poll(poll, polls, id, unused_s)
    local now, ends = now_ms(), tonumber(redis.call('HGET', poll, 'ends')) -- the index of a voter must not end before
    local until_ms = math.min(now + unused_s * 1000, ends)
    redis.call('PEXPIREAT', poll, until_ms)
    redis.call('ZADD', polls, until_ms, id)
    redis.call('EXPIRE', polls, unused_s)
end
