#!lua
-- Counts a person's claps, once for each press.
local applause, seen = unpack(KEYS)
local person, life_s = unpack(ARGV)
if redis.call('SET', seen, '', 'NX', 'EX', life_s) then
    redis.call('HINCRBY', applause, person, 1)
    redis.call('EXPIRE', applause, life_s)
end
return 1
