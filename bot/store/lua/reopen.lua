#!lua flags=allow-oom
-- Goes on with a committed turn: the newest one from the journal that is kept of it, an older one from a journal that is
-- made of its record. The record leaves the history, and what waits of the answer goes. The entries of the turn under
-- way, which has no step, wait for it. 0 where nothing was done.
local lease, inbox, turn, journal, answered, history, summary, outbox, late = unpack(KEYS)
local token, turn_id, new_id, delivery, record, stale, frames = unpack(ARGV)
local first = 8 + frames -- then the frames of the journal and the deliveries of the answer
if is_lost(lease, token) then return LEASE_LOST end
local is_newest = record == ''
if is_newest then
    record = redis.call('LINDEX', history, -1)
    local is_its = record and string.find(record, '"turn_id":"' .. turn_id .. '"', 1, true)
    if not is_its or redis.call('LLEN', answered) < 2 then
        return 0
    end
elseif not redis.call('LPOS', history, record) then
    return 0
end
local removed = 0 -- a late answer may have been fetched meanwhile
for i = first, #ARGV do
    removed = removed + redis.call('LREM', outbox, 1, ARGV[i]) + redis.call('LREM', late, 1, ARGV[i])
end
if removed == 0 and not (is_newest and delivery ~= '') then
    return 0
end
redis.call('LREM', history, -1, record)
if stale ~= '' then
    redis.call('DEL', summary)
end
while redis.call('LMOVE', journal, inbox, 'RIGHT', 'LEFT') do end
redis.call('EXPIRE', inbox, WORK_S)
if is_newest then
    redis.call('RPOP', answered) -- the frame that commit has added
    redis.call('RENAME', answered, journal)
end
for i = 8, first - 1 do
    redis.call('RPUSH', journal, ARGV[i])
end
redis.call('DEL', turn)
redis.call('HSET', turn, 'id', new_id, 'reopened', 1)
keep_turn(turn, journal)
if delivery ~= '' then
    redis.call('RPUSH', outbox, delivery) -- deletes what was shown
    redis.call('EXPIRE', outbox, WORK_S)
end
return 1
