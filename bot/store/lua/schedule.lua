#!lua flags=allow-oom
-- Keeps a new value for its time; without a time it changes one that still exists.
local values, times = unpack(KEYS)
local conversation, id, at, value = unpack(ARGV)
local exists = redis.call('HEXISTS', values, id) == 1
if exists == (at == '') then
    redis.call('HSET', values, id, value)
end
if not exists and at ~= '' then
    schedule_at(times, values, conversation, id, at)
end
