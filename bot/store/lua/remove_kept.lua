#!lua flags=allow-oom
-- Removes a kept delivery that has arrived or, with a reason, is given up. Needs no lease: it changes nothing of a turn but
-- when its question was shown.
local kept, dead, turn, journal = unpack(KEYS)
local conversation, delivery, reason, question = unpack(ARGV)
if redis.call('LREM', kept, 1, delivery) == 1 and reason ~= '' then
    add_dead_letter(dead, conversation, 'reason', reason, 'delivery', delivery)
end
if question ~= '' then
    note_shown(journal, turn, question)
end
