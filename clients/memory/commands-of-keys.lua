-- Commands about any key, and about those with a text. Of each: how many words must follow, and what it does.

local commands = {}

local function syntax_error()
  fail('ERR syntax error')
end

local durations = { EX = 1000, PX = 1 }
local times = { EXAT = 1000, PXAT = 1 }

-- The words behind SET and GETEX.
local function options_of(words, at, flags, command)
  local given, ends = {}, nil
  while words[at] do
    local word = string.upper(words[at])
    local unit = durations[word] or times[word]
    if unit then
      at = at + 1
      local ms = integer_of(words[at]) * unit
      if ms <= 0 then fail("ERR invalid expire time in '" .. command .. "' command") end
      ends = times[word] and ms or now_ms() + ms
    elseif flags[word] then
      given[word] = true
    else
      syntax_error()
    end
    at = at + 1
  end
  if given.NX and given.XX then syntax_error() end
  return given, ends
end

commands.set = { 2, function(key, text, ...)
  local given, ends = options_of({ ... }, 1, { NX = true, XX = true, GET = true, KEEPTTL = true }, 'set')
  local is_there = kind_of(key) ~= 'none'
  local before = ok
  if given.GET then
    local there = get(key, 'string')
    before = there and there.text or false
  end
  if (given.NX and is_there) or (given.XX and not is_there) then return given.GET and before or false end
  local kept = given.KEEPTTL and is_there and entries[key].ends or nil
  delete(key)
  made(key, 'string').text = text
  expire(key, ends or kept)
  return before
end }

local function text_of(key)
  local there = get(key, 'string')
  return there and there.text or false
end

commands.get = { 1, text_of }

-- What is no text is nothing to it.
commands.mget = { 1, function(...)
  local found = {}
  for place, key in ipairs({ ... }) do found[place] = kind_of(key) == 'string' and text_of(key) end
  return found
end }

commands.getex = { 1, function(key, ...)
  local given, ends = options_of({ ... }, 1, { PERSIST = true }, 'getex')
  local text = text_of(key)
  if text and ends then expire(key, ends) end
  if text and given.PERSIST then expire(key, nil) end
  return text
end }

-- Unlike that of a list, a range of a text that ends before its first character has that one.
commands.getrange = { 3, function(key, first, last)
  local text = text_of(key) or ''
  local from, to = integer_of(first), integer_of(last)
  if from < 0 and to < 0 and from > to then return '' end
  if from < 0 then from = #text + from end
  if to < 0 then to = #text + to end
  return string.sub(text, math.max(0, from) + 1, math.max(0, to) + 1)
end }

local function remove(...)
  local gone = 0
  for _, key in ipairs({ ... }) do gone = gone + (delete(key) and 1 or 0) end
  return gone
end
commands.del = { 1, remove }
commands.unlink = { 1, remove }

commands.exists = { 1, function(...)
  local there = 0
  for _, key in ipairs({ ... }) do there = there + (kind_of(key) ~= 'none' and 1 or 0) end
  return there
end }

commands.pexpire = { 2, function(key, ms)
  return expire(key, now_ms() + integer_of(ms)) and 1 or 0
end }

-- -2: there is none; -1: it stays.
commands.pttl = { 1, function(key)
  local entry = live(key)
  if not entry then return -2 end
  return entry.ends and math.ceil(entry.ends - now_ms()) or -1
end }

commands.persist = { 1, function(key)
  local entry = live(key)
  if not entry or not entry.ends then return 0 end
  entry.ends = nil
  return 1
end }

commands.type = { 1, function(key)
  return { ok = kind_of(key) }
end }

-- A pattern with *, ? and character classes, in that of Lua.
local function pattern_of(glob)
  local pattern = string.gsub(glob or '*', '\\?.', function(piece)
    if piece == '*' then return '.*' end
    if piece == '?' then return '.' end
    if piece == '[' or piece == ']' then return piece end
    return '%' .. string.sub(piece, -1)
  end)
  return '^' .. string.gsub(pattern, '%%(%w)', '%1') .. '$'
end

local function named(glob, kind)
  local found, pattern = {}, pattern_of(glob)
  for _, name in ipairs(names()) do
    if string.find(name, pattern) and (not kind or kind_of(name) == kind) then found[#found + 1] = name end
  end
  return found
end

commands.keys = { 1, function(glob)
  return named(glob)
end }

-- All at once: the next cursor is the end.
commands.scan = { 1, function(cursor, ...)
  integer_of(cursor)
  local words, options = { ... }, {}
  for at = 1, #words, 2 do options[string.upper(words[at])] = words[at + 1] end
  return { '0', named(options.MATCH, options.TYPE) }
end }

commands.dbsize = { 0, function()
  return #names()
end }

commands.flushall = { 0, function()
  entries = {}
  return ok
end }

commands.sadd = { 2, function(key, ...)
  local set, added = made(key, 'set'), 0
  for _, member in ipairs({ ... }) do added = added + (put(set, member, true) and 1 or 0) end
  return added
end }

commands.smembers = { 1, function(key)
  local found = {}
  for member in pairs((get(key, 'set') or { of = {} }).of) do found[#found + 1] = member end
  return found
end }

commands.time = { 0, function()
  return { string.format('%.0f', math.floor(now_us / 1e6)), string.format('%.0f', now_us % 1e6) }
end }
