#!lua flags=allow-oom
-- Counts the messages of a turn, all of them or none, once however often the turn asks; one without an id each time. And
-- its tokens, which no limit refuses. Returns the exceeded unit, or nothing, and what was used before.
local counter = unpack(KEYS)
local turn, messages, tokens, message_limit, token_limit, ttl = unpack(ARGV)
local used = redis.call('HMGET', counter, 'messages', 'tokens', turn)
local before, is_counted = {used[1] or 0, used[2] or 0}, used[3]
local excess = ''
if is_counted then
    messages = 0
elseif token_limit ~= '0' and tonumber(before[2]) >= tonumber(token_limit) then
    excess = 'tokens'
elseif message_limit ~= '0' and before[1] + messages > tonumber(message_limit) then
    excess = 'messages'
end
if excess == '' then
    redis.call('HSET', counter, 'messages', before[1] + messages, 'tokens', before[2] + tokens)
    if turn ~= '' and not is_counted then
        redis.call('HSET', counter, turn, messages)
    end
    redis.call('EXPIRE', counter, ttl)
end
return {excess, unpack(before)}
