#!lua flags=allow-oom
-- Appends a step to the journal and a delivery to the outbox. Entries of the inbox that are done with this are removed,
-- or join the turn. Returns the length of the inbox.
local lease, inbox, turn, journal, outbox = unpack(KEYS)
local token, frame, delivery, join = unpack(ARGV) -- then the entries
if is_lost(lease, token) then return LEASE_LOST end
if frame ~= '' and redis.call('EXISTS', turn) == 1 then
    redis.call('RPUSH', journal, frame)
    redis.call('HSET', turn, 'starts', 0)
end
if delivery ~= '' then
    redis.call('RPUSH', outbox, delivery)
    redis.call('EXPIRE', outbox, WORK_S)
end
for i = 5, #ARGV do
    if redis.call('LREM', inbox, 1, ARGV[i]) == 1 and join == 'join' then
        redis.call('RPUSH', journal, ARGV[i])
    end
end
keep_turn(turn, journal)
return redis.call('LLEN', inbox)
