#!lua flags=allow-oom
-- Gives the lease back. The conversation stays due while inbox, journal or outbox hold something.
local lease, due, inbox, turn, journal, outbox = unpack(KEYS)
local conversation, token, retry_at, known, was_empty = unpack(ARGV)
if is_lost(lease, token) then return LEASE_LOST end
if redis.call('EXISTS', inbox, journal, outbox) == 0 then
    release_idle(lease, due, conversation)
    return 0
end
redis.call('DEL', lease)
if tonumber(redis.call('HGET', turn, 'starts') or 0) > 0 then
    redis.call('HINCRBY', turn, 'starts', -1)
end
-- A message or a delivery may have come since the holder chose the next time; it must not wait for that.
local waiting = redis.call('LLEN', inbox) > tonumber(known)
    or (was_empty == 'empty' and redis.call('EXISTS', outbox) == 1)
due_at(due, conversation, (retry_at == '' or waiting) and now_ms() or retry_at)
return waiting and 1 or 0
