#!lua flags=allow-oom
-- Removes entries from inbox, outbox and late answers, so the last turn cannot be reopened. Edits whose messages have
-- not come in may be among what is removed, so they go too. It may end the turn: messages of others go back to the inbox.
if lease_lost() then return LEASE_LOST end
local ends_turn, entries = ARGV[3], tonumber(ARGV[4])
for i = 5, 4 + entries do
    redis.call('LREM', inbox, 0, ARGV[i])
    redis.call('LREM', outbox, 0, ARGV[i])
    redis.call('LREM', late, 0, ARGV[i])
end
redis.call('DEL', answered, early)
if ends_turn == 'yes' then
    redis.call('DEL', turn, journal)
    for i = #ARGV, 5 + entries, -1 do
        redis.call('LPUSH', inbox, ARGV[i])
    end
    redis.call('EXPIRE', inbox, WORK_S)
end
