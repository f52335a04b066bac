#!lua flags=allow-oom
-- Carries out commands together, as MULTI and EXEC do, but also in a full store and, with a token, only under a lease.
-- KEYS: the lease if there is a token, and the keys of the commands.
-- ARGV: the token, whether the replies are wanted ("1"), and for each command the number of its words, and these.
local token, is_read = ARGV[1], ARGV[2] == '1'
if token ~= '' and is_lost(KEYS[1], token) then return LEASE_LOST end
local replies, at = {}, 3
while at <= #ARGV do
    local last = at + ARGV[at]
    local reply = redis.call(unpack(ARGV, at + 1, last))
    if is_read then replies[#replies + 1] = reply end
    at = last + 1
end
return replies
