#!lua flags=allow-oom
-- Removes a late answer that has arrived or, with a reason, is given up. Needs no lease: it changes nothing of a turn but
-- when its question was shown.
local name, reason, question, shown_at = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
for _, kept in ipairs(redis.call('LRANGE', late, 0, -1)) do
    local stop = string.find(kept, '\n', 1, true)
    if string.sub(kept, 1, stop - 1) == name then
        redis.call('LREM', late, 1, kept)
        if reason ~= '' then
            add_dead_letter('reason', reason, 'delivery', string.sub(kept, stop + 1, -1))
        end
    end
end
if question ~= '' then
    note_shown(question, shown_at)
end
