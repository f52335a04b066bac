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

local MESSAGES_CHANGED = redis.error_reply('MESSAGESCHANGED')

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

-- Whether entries change one of the messages whose ids are the arguments from one place to another.
local function is_changed_by(entries, only_unsent, from, to)
    for _, frame in ipairs(from <= to and redis.call('LRANGE', entries, 0, -1) or {}) do
        if kind_of(frame) == 'change' and not (only_unsent and not string.find(frame, '"event":"unsent"', 1, true)) then
            for i = from, to do
                if string.find(frame, '"target":"' .. ARGV[i] .. '"', 1, true) then
                    return true
                end
            end
        end
    end
    return false
end

-- After the last delivery, the turn that was committed last can be reopened for a moment only.
local function end_answer()
    if redis.call('EXISTS', outbox) == 0 then
        redis.call('EXPIRE', answered, MOMENT_S)
    end
end

local function keep_turn()
    redis.call('EXPIRE', turn, WORK_S)
    redis.call('EXPIRE', journal, WORK_S)
end

-- Removes deliveries of a turn that is reopened; whether any was left. A late answer may have been fetched meanwhile.
local function remove_waiting(from)
    local found = false
    for i = from, #ARGV do
        found = redis.call('LREM', outbox, 1, ARGV[i]) + redis.call('LREM', late, 1, ARGV[i]) > 0 or found
    end
    return found
end

-- Puts the entries of a turn without steps back to the front of the inbox.
local function give_way()
    while redis.call('LMOVE', journal, inbox, 'RIGHT', 'LEFT') do end
    redis.call('EXPIRE', inbox, WORK_S)
end

-- Goes on with the turn whose journal is in place; a delivery deletes what it has shown.
local function go_on(new_id, delivery)
    redis.call('DEL', turn)
    redis.call('HSET', turn, 'id', new_id, 'reopened', 1)
    keep_turn()
    if delivery ~= '' then
        redis.call('RPUSH', outbox, delivery)
        redis.call('EXPIRE', outbox, WORK_S)
    end
end

-- Only for the question that the turn waits for: an older one may have come back from the dead letters.
local function note_shown(question, shown_at)
    local last = redis.call('LINDEX', journal, -1)
    if last and kind_of(last) == 'asked' and string.find(last, '"id":"' .. question .. '"', 1, true) then
        redis.call('HSET', turn, 'shown', string.format('%d %d %s', tonumber(shown_at) or now_ms(), now_ms(), question))
    end
end

-- Whose answers are kept until they fetch them; an entry begins with its asker's id and a space.
local function askers_of_late()
    local askers = {}
    for _, kept in ipairs(redis.call('LRANGE', late, 0, -1)) do
        table.insert(askers, string.match(kept, '^[^ ]*'))
    end
    return askers
end

-- Resumes the unfinished turn, else begins one with the whole inbox; false where that is empty. History comes with it.
local function begin_turn(new_id, turns)
    local fields = redis.call('HMGET', turn, 'id', 'starts', 'retry_at', 'shown', 'reopened')
    local id, starts, retry_at, shown, reopened = unpack(fields)
    local frames = redis.call('LRANGE', id and journal or inbox, 0, -1)
    if not id then
        if #frames == 0 then
            return false
        end
        redis.call('RENAME', inbox, journal)
        id = new_id
    end
    starts = (tonumber(starts) or 0) + 1
    redis.call('HSET', turn, 'id', id, 'starts', starts)
    keep_turn()
    local not_before = tonumber(retry_at) or 0
    if not_before > 0 and not_before <= now_ms() then
        not_before = 0
    end
    local summarised = turns ~= '0' and redis.call('GET', summary)
    local entries = turns ~= '0' and redis.call('LRANGE', history, -turns, -1)
    return {id, starts, frames, not_before, shown or '', reopened and 1 or 0, summarised, entries, askers_of_late()}
end

-- Ends a lease with no work left.
local function release_idle()
    local forgot = redis.call('DEL', lease, forgetting) == 2
    redis.call('ZREM', due, conversation)
    if forgot then
        -- The last answer has been delivered: now the append-only file can be rewritten.
        redis.call('SET', forgotten, now_ms(), 'EX', INDEX_S)
    end
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

-- A reminder is kept as its author's id, a line feed and its body.
local function is_by(kept, author)
    return string.sub(kept, 1, #author + 1) == author .. '\n'
end

-- A reminder in the index of its shard.
local function alarm_of(id)
    return conversation .. ' ' .. id
end

local function keep_for(key, s)
    if redis.call('TTL', key) < s then
        redis.call('EXPIRE', key, s)
    end
end

local function alarm_at(id, ms)
    redis.call('ZADD', alarms, ms, alarm_of(id))
    local left = math.max(0, math.ceil((ms - now_ms()) / 1000)) + REMINDER_S
    keep_for(alarms, left)
    keep_for(reminders, left)
end

local function keep_poll(id)
    redis.call('EXPIRE', poll, POLL_S)
    redis.call('ZADD', polls, now_ms() + POLL_S * 1000, id)
    redis.call('EXPIRE', polls, POLL_S)
end
