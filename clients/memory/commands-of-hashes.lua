-- Commands about hashes.

local nobody = { of = {}, size = 0 }

local function hash_at(key)
  return get(key, 'hash') or nobody
end

local function set_fields(key, ...)
  local words = { ... }
  if #words % 2 ~= 0 then fail("ERR wrong number of arguments for 'hset' command") end
  local hash, added = made(key, 'hash'), 0
  for at = 1, #words, 2 do added = added + (put(hash, words[at], words[at + 1]) and 1 or 0) end
  return added
end

commands.hset = { 3, set_fields }
commands.hmset = { 3, function(...)
  set_fields(...)
  return ok
end }
commands.hsetnx = { 3, function(key, field, text)
  if hash_at(key).of[field] then return 0 end
  return set_fields(key, field, text)
end }
commands.hget = { 2, function(key, field)
  return hash_at(key).of[field] or false
end }
commands.hmget = { 2, function(key, ...)
  local hash, found = hash_at(key), {}
  for place, field in ipairs({ ... }) do found[place] = hash.of[field] or false end
  return found
end }

local function listed(with_fields, with_texts)
  return { 1, function(key)
    local found = {}
    for field, text in pairs(hash_at(key).of) do
      if with_fields then found[#found + 1] = field end
      if with_texts then found[#found + 1] = text end
    end
    return found
  end }
end
commands.hgetall = listed(true, true)
commands.hkeys = listed(true, false)
commands.hvals = listed(false, true)

commands.hlen = { 1, function(key)
  return hash_at(key).size
end }
commands.hstrlen = { 2, function(key, field)
  return #(hash_at(key).of[field] or '')
end }
commands.hexists = { 2, function(key, field)
  return hash_at(key).of[field] and 1 or 0
end }
commands.hdel = { 2, function(key, ...)
  local hash, gone = get(key, 'hash'), 0
  for _, field in ipairs({ ... }) do gone = gone + (take(hash, field) and 1 or 0) end
  drop_empty(key)
  return gone
end }
commands.hincrby = { 3, function(key, field, by)
  local step, before = integer_of(by), hash_at(key).of[field] or '0'
  if not string.find(before, '^-?%d+$') then fail('ERR hash value is not an integer') end
  local now = tonumber(before) + step
  put(made(key, 'hash'), field, number_text(now))
  return now
end }
-- Without a count one, with one so many different ones. The first ones are as random as any.
commands.hrandfield = { 1, function(key, count)
  local fields = commands.hkeys[2](key)
  if not count then return fields[1] or false end
  return slice(fields, 1, math.min(#fields, math.abs(integer_of(count))))
end }
