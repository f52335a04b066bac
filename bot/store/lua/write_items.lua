#!lua flags=allow-oom
-- Adds items to a hash, from a number to a value, each once; an item that has a number already is replaced if it is
-- still there. Returns the numbers, and 0 for an item without room. A value begins with 16 digits, by which an item is
-- known, and " 1" if it may make room for a new one. The field "last" holds the newest number, so that none is given
-- twice.
local items = unpack(KEYS)
local ttl, most = unpack(ARGV) -- then for each item its number, or nothing, and its value
local stored = redis.call('HGETALL', items)
local count, known, spare, numbers = 0, {}, {}, {}
for i = 1, #stored, 2 do
    if stored[i] ~= 'last' then
        local number, value = tonumber(stored[i]), stored[i + 1]
        count = count + 1
        known[string.sub(value, 1, 16)] = number
        known[number] = true
        if string.sub(value, 18, 18) == '1' then
            table.insert(spare, number)
        end
    end
end
table.sort(spare)
for i = 3, #ARGV, 2 do
    local number, value = tonumber(ARGV[i]), ARGV[i + 1]
    local digest = string.sub(value, 1, 16)
    if number then
        number = known[number] and number or 0
        if number > 0 then redis.call('HSET', items, number, value) end
    elseif known[digest] then
        number = known[digest]
    else
        if count >= tonumber(most) and #spare > 0 then
            redis.call('HDEL', items, table.remove(spare, 1))
            count = count - 1
        end
        number = 0
        if count < tonumber(most) then
            number = redis.call('HINCRBY', items, 'last', 1)
            redis.call('HSET', items, number, value)
            count = count + 1
        end
    end
    table.insert(numbers, number)
end
redis.call('EXPIRE', items, ttl)
return numbers
