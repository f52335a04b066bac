local conversation = ARGV[1]

local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function due_at(ms)
    redis.call('ZADD', due, ms, conversation)
    redis.call('EXPIRE', due, INDEX_S)
end

local LEASE_LOST = redis.error_reply('LEASELOST')

local function lease_lost()
    return redis.call('GET', lease) ~= ARGV[2]
end

-- Kinds of entries that come from the inbox; the others are a turn's own steps.
local WAITING = {arrival = true, change = true, aside = true, control = true}

local function kind_of(frame)
    return string.match(frame, '^[^ ]+')
end

local function bury(...)
    local oldest = now_ms() - DEAD_S * 1000
    redis.call('XADD', dead, 'MINID', oldest, '*', 'conversation', conversation, ...)
    redis.call('XTRIM', dead, 'MAXLEN', DEAD_LETTERS)
    redis.call('EXPIRE', dead, DEAD_S)
end

local function keep_turn()
    redis.call('EXPIRE', turn, WORK_S)
    redis.call('EXPIRE', journal, WORK_S)
end
