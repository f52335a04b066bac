#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('DEL', history, summary, early, outbox, late, answered, background, interpreter)
if ARGV[3] == 'whole' then
    redis.call('DEL', inbox, turn, journal)
end
for i = 4, #ARGV do
    redis.call('RPUSH', outbox, ARGV[i])
end
redis.call('EXPIRE', outbox, WORK_S)
