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

-- Kinds of entries from the inbox; the others are steps of a turn.
local WAITING = {arrival = true, change = true, aside = true, control = true}

local function kind_of(frame)
    return string.match(frame, '^[^ ]+')
end

local function add_dead_letter(...)
    local oldest = now_ms() - DEAD_S * 1000
    redis.call('XADD', dead, 'MINID', oldest, '*', 'conversation', conversation, ...)
    redis.call('XTRIM', dead, 'MAXLEN', DEAD_LETTERS)
    redis.call('EXPIRE', dead, DEAD_S)
end

local function keep_turn()
    redis.call('EXPIRE', turn, WORK_S)
    redis.call('EXPIRE', journal, WORK_S)
end

-- Bytes; 0 where the host forbids MEMORY.
local function size_of(list)
    local bytes = redis.pcall('MEMORY', 'USAGE', list, 'SAMPLES', 0)
    return type(bytes) == 'number' and bytes or 0
end

-- Measures only after a large entry: small ones alone cannot exceed HISTORY_BYTES, after a large one at most twofold.
local function bound_history(added)
    if #added <= HISTORY_SHARE then
        return
    end
    local bytes = size_of(history)
    while bytes > HISTORY_BYTES and redis.call('LLEN', history) > 1 do
        bytes = bytes - #redis.call('LPOP', history)
    end
end
