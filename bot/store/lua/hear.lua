#!lua flags=allow-oom
-- Hears an unmentioned message of a group: keeps it for a while if it is given, and says between which languages to
-- translate it.
local at, entry = ARGV[2], ARGV[3]
if entry ~= '' then
    redis.call('ZADD', background, at, entry)
    redis.call('ZREMRANGEBYSCORE', background, '-inf', now_ms() - BACKGROUND_S * 1000)
    redis.call('ZREMRANGEBYRANK', background, 0, -BACKGROUND_MESSAGES - 1)
    redis.call('EXPIRE', background, BACKGROUND_S)
end
local languages = redis.call('GET', interpreter)
if languages then
    redis.call('EXPIRE', interpreter, INTERPRETER_S)
end
return languages
