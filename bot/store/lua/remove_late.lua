#!lua flags=allow-oom
-- Removes a late answer that has arrived or, with a reason, is given up. Needs no lease: it changes nothing of a turn but
-- when its question was shown.
local late, dead, turn, journal = unpack(KEYS)
local conversation, name, reason, question, shown_at = unpack(ARGV)
for _, kept in ipairs(redis.call('LRANGE', late, 0, -1)) do
    local kept_name, delivery = string.match(kept, '^([^\n]*)\n(.*)$')
    if kept_name == name then
        redis.call('LREM', late, 1, kept)
        if reason ~= '' then
            add_dead_letter(dead, conversation, 'reason', reason, 'delivery', delivery)
        end
    end
end
if question ~= '' then
    note_shown(journal, turn, question, shown_at)
end
