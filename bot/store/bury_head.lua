#!lua flags=allow-oom
if lease_lost() then return LEASE_LOST end
local delivery = redis.call('LPOP', outbox)
if delivery then
    local oldest = now_ms() - DEAD_S * 1000
    redis.call('XADD', dead, 'MINID', oldest, '*', 'conversation', conversation, 'delivery', delivery, 'reason', ARGV[3])
    redis.call('XTRIM', dead, 'MAXLEN', DEAD_LETTERS)
    redis.call('EXPIRE', dead, DEAD_S)
end
