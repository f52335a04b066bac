#!lua flags=allow-oom
-- Writes a stream anew: it keeps the bytes of a deleted entry while it has other entries.
local letters = unpack(KEYS)
local entries = redis.call('XRANGE', letters, '-', '+')
if #entries == 0 then
    return
end
redis.call('DEL', letters)
for _, entry in ipairs(entries) do
    redis.call('XADD', letters, entry[1], unpack(entry[2]))
end
redis.call('EXPIRE', letters, DEAD_S)
