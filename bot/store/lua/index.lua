#!lua flags=allow-oom
-- Adds entries to the index of what belongs to somebody, each for the days in which what it names may be stored. Where all
-- are known for as long already, nothing is written.
local index = unpack(KEYS)
local ttl = unpack(ARGV) -- then the entries
local today = math.floor(now_ms() / DAY_MS)
local last = today + math.ceil(ttl * 1000 / DAY_MS) + 1
local changed = 0
for i = 2, #ARGV do
    changed = changed + redis.call('ZADD', index, 'GT', 'CH', last, ARGV[i])
end
if changed > 0 then
    redis.call('ZREMRANGEBYSCORE', index, '-inf', today - 1)
    keep_for(index, (last - today + 1) * DAY_MS / 1000)
end
