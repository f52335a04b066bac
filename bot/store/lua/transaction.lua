#!lua flags=allow-oom
-- Carries out commands together, as MULTI and EXEC do, but also in a full store and, with a token, only under a lease.
-- KEYS: the lease if there is a token, and the keys of the commands.
local token = ARGV[1] -- then for each command the number of its words, and these
if token ~= '' and is_lost(KEYS[1], token) then return LEASE_LOST end
local results, at = {}, 2
while at <= #ARGV do
    local last = at + ARGV[at]
    results[#results + 1] = redis.call(unpack(ARGV, at + 1, last))
    at = last + 1
end
return results
