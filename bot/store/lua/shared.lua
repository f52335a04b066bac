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

-- In bytes; 0 where a host does not let us ask.
local function size_of(list)
    local bytes = redis.pcall('MEMORY', 'USAGE', list, 'SAMPLES', 0)
    return type(bytes) == 'number' and bytes or 0
end

-- Only an entry of more than its share can be too much for a history, at most twofold with smaller ones after it: most
-- entries cost nothing here, and each that goes was added once.
local function bound_history(added)
    if #added <= HISTORY_SHARE then
        return
    end
    local bytes = size_of(history)
    while bytes > HISTORY_BYTES and redis.call('LLEN', history) > 1 do
        bytes = bytes - #redis.call('LPOP', history)
    end
end
