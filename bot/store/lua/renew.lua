#!lua flags=allow-oom
-- Renews leases of one shard; returns the places, from 0, of those that are lost.
local due = KEYS[1] -- then the lease of each conversation
-- ARGV: for each lease its conversation, its token and its time in milliseconds.
local now, lost = now_ms(), {}
for i = 2, #KEYS do
    local conversation, token, ttl = unpack(ARGV, 3 * i - 5, 3 * i - 3)
    if is_lost(KEYS[i], token) then
        table.insert(lost, i - 2)
    else
        redis.call('PEXPIRE', KEYS[i], ttl)
        redis.call('ZADD', due, now + ttl, conversation)
    end
end
redis.call('EXPIRE', due, INDEX_S)
return lost
