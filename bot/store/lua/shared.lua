-- What several scripts use; every script begins with it.

local LEASE_LOST = redis.error_reply('LEASELOST')
local MESSAGES_CHANGED = redis.error_reply('MESSAGESCHANGED')

-- Kinds of entries that come from the inbox; the others are steps of a turn.
local INBOUND = {arrival = true, change = true, aside = true, control = true}

local function now_ms()
    local time = redis.call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function is_lost(lease, token)
    return redis.call('GET', lease) ~= token
end

-- The arguments from one place on, up to another one or to the last.
local function arguments(from, to)
    local found = {}
    for i = from, to or #ARGV do
        found[#found + 1] = ARGV[i]
    end
    return found
end

local function due_at(due, conversation, ms)
    redis.call('ZADD', due, ms, conversation)
    redis.call('EXPIRE', due, INDEX_S)
end

-- Ends a lease with no work left.
local function release_idle(lease, due, conversation)
    redis.call('DEL', lease)
    redis.call('ZREM', due, conversation)
end

local function kind_of(frame)
    return string.match(frame, '^[^ ]+')
end

-- Puts an inbound event into the inbox; returns the entry and the number of entries there.
local function push_inbound(inbox, kind, id, body, now)
    local stamped = string.format('%s@%d', id, now)
    local frame = string.format('%s %d:%s', kind, #stamped, stamped) .. body
    return frame, redis.call('RPUSH', inbox, frame)
end

-- Whether a list of entries holds a change of one of these messages.
local function holds_change(list, message_ids, only_unsent)
    if #message_ids == 0 then
        return false
    end
    for _, frame in ipairs(redis.call('LRANGE', list, 0, -1)) do
        local counts = not only_unsent or string.find(frame, '"event":"unsent"', 1, true)
        if kind_of(frame) == 'change' and counts then
            for _, id in ipairs(message_ids) do
                if string.find(frame, '"target":"' .. id .. '"', 1, true) then
                    return true
                end
            end
        end
    end
    return false
end

local function keep_turn(turn, journal)
    redis.call('EXPIRE', turn, WORK_S)
    redis.call('EXPIRE', journal, WORK_S)
end

-- Notes when a question was shown; only for the one that the turn waits for: an older one may come back from the dead
-- letters.
local function note_shown(journal, turn, question, shown_at)
    local last = redis.call('LINDEX', journal, -1)
    if last and kind_of(last) == 'parked' and string.find(last, '"key":"' .. question .. '"', 1, true) then
        local now = now_ms()
        redis.call('HSET', turn, 'shown', string.format('%d %d %s', tonumber(shown_at) or now, now, question))
    end
end

local function add_dead_letter(dead, conversation, ...)
    redis.call('XADD', dead, 'MINID', now_ms() - DEAD_S * 1000, '*', 'conversation', conversation, ...)
    redis.call('XTRIM', dead, 'MAXLEN', DEAD_LETTERS)
    redis.call('EXPIRE', dead, DEAD_S)
end

-- Bytes; 0 where the host forbids MEMORY.
local function size_of(list)
    local bytes = redis.pcall('MEMORY', 'USAGE', list, 'SAMPLES', 0)
    return type(bytes) == 'number' and bytes or 0
end

-- Measures only after a large entry: small ones alone cannot exceed HISTORY_BYTES, after a large one at most twofold.
local function bound_history(history, added)
    if #added <= HISTORY_SHARE then
        return
    end
    local bytes = size_of(history)
    while bytes > HISTORY_BYTES and redis.call('LLEN', history) > 1 do
        bytes = bytes - #redis.call('LPOP', history)
    end
end

local function keep_for(key, s)
    if redis.call('TTL', key) < s then
        redis.call('EXPIRE', key, s)
    end
end

-- Sets the next time of a value of a schedule, in the index of its shard.
local function schedule_at(times, values, conversation, id, ms)
    redis.call('ZADD', times, ms, conversation .. ' ' .. id)
    local left = math.max(0, math.ceil((ms - now_ms()) / 1000)) + SCHEDULED_S
    keep_for(times, left)
    keep_for(values, left)
end
