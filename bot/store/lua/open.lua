#!lua flags=allow-oom
-- Takes the lease and begins a turn, unless a delivery comes first. What to do is
--   due    take the lease of a conversation that is due, and begin;
--   take   take the lease of any conversation;
--   begin  begin under the lease that is held.
-- A turn that is not finished is resumed, else one begins with the whole inbox; history comes with it.
local lease, due, inbox, turn, journal, history, summary, outbox, kept = unpack(KEYS)
local conversation, token, what, ttl, new_id, turns = unpack(ARGV)

local function begin()
    local id, starts, retry_at, shown, reopened = unpack(
        redis.call('HMGET', turn, 'id', 'starts', 'retry_at', 'shown', 'reopened'))
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
    keep_turn(turn, journal)
    local not_before = tonumber(retry_at) or 0
    if not_before <= now_ms() then
        not_before = 0
    end
    local summarised = turns ~= '0' and redis.call('GET', summary)
    local entries = turns ~= '0' and redis.call('LRANGE', history, -turns, -1)
    local keeps = redis.call('EXISTS', kept)
    return {id, starts, frames, not_before, shown or '', reopened and 1 or 0, summarised, entries, keeps}
end

if what == 'begin' then
    return is_lost(lease, token) and LEASE_LOST or {false, begin()}
end
if what == 'due' and not redis.call('ZSCORE', due, conversation) then
    return false
end
if not redis.call('SET', lease, token, 'NX', 'PX', ttl) then
    return false
end
due_at(due, conversation, now_ms() + ttl)
local delivery = redis.call('LINDEX', outbox, 0)
return {delivery, not delivery and new_id ~= '' and begin()}
