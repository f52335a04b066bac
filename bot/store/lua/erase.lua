#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
redis.call('DEL', history, summary, outbox, late, answered, background, interpreter)
if ARGV[3] == 'whole' then
    redis.call('DEL', inbox, turn, journal)
end
