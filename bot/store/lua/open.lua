#!lua flags=allow-oom
-- Takes the lease of a due conversation; begins its turn unless a delivery comes first.
local token, ttl, new_id, turns = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not redis.call('ZSCORE', due, conversation) or not redis.call('SET', lease, token, 'NX', 'PX', ttl) then
    return false
end
redis.call('ZADD', due, now_ms() + ttl, conversation)
local delivery = redis.call('LINDEX', outbox, 0)
return {delivery, not delivery and new_id ~= '' and begin_turn(new_id, turns)}
