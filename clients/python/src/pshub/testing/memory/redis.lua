-- The Redis in memory of pshub.testing. Made of clients/memory.

-- What commands answer, and how it goes over the wire. As Redis hands answers to Lua: nothing is false, a status and an error are tables.

local ok = { ok = 'OK' }
local wrong_type = 'WRONGTYPE Operation against a key holding the wrong kind of value'

-- Whole numbers have 32 bits in the C of WebAssembly, where they have 64 in Redis: a time in milliseconds would be cut.
if string.format('%d', 1e15) ~= '1000000000000000' then
  local format = string.format
  string.format = function(pattern, ...)
    local args, at = { ... }, 0
    pattern = string.gsub(pattern, '%%([-+ #0]*%d*%.?%d*)(.)', function(width, kind)
      if kind == '%' then return nil end
      at = at + 1
      local number = (kind == 'd' or kind == 'i') and tonumber(args[at])
      if not number then return nil end
      args[at] = number < 0 and math.ceil(number) or math.floor(number)
      return '%' .. width .. '.0f'
    end)
    return format(pattern, unpack(args, 1, select('#', ...)))
  end
end

local function fail(text)
  error({ err = text }, 0)
end

local function is_whole(number)
  return number == math.floor(number) and math.abs(number) < 1e17
end

-- The shortest text that is read as that number again.
local function number_text(number)
  if number == math.huge then return 'inf' end
  if number == -math.huge then return '-inf' end
  if is_whole(number) then return string.format('%.0f', number) end
  for digits = 15, 17 do
    local text = string.format('%.' .. digits .. 'g', number)
    if tonumber(text) == number then return text end
  end
end

local function integer_of(text)
  if not text or not string.find(text, '^-?%d+$') or #text > 20 then fail('ERR value is not an integer or out of range') end
  return tonumber(text)
end

local function score_of(text, message)
  local sign, infinite = string.match(string.lower(text), '^([+-]?)(inf%a*)$')
  if infinite == 'inf' or infinite == 'infinity' then return sign == '-' and -math.huge or math.huge end
  local score = string.find(text, '^[+-]?[%d.]') and tonumber(text)
  if not score then fail(message or 'ERR value is not a valid float') end
  return score
end

-- Places of a range as Redis counts them, -1 is the last one; returned are those of Lua.
local function range_of(first, last, length)
  local from, to = integer_of(first), integer_of(last)
  if from < 0 then from = length + from end
  if to < 0 then to = length + to end
  return math.max(0, from) + 1, math.min(length, to + 1)
end

local function slice(list, from, to)
  local found = {}
  for place = from, to do found[#found + 1] = list[place] end
  return found
end

-- In RESP 2. What a function returns loses what is behind the point, and a list ends before its first nil.
local function encode(reply, out)
  local kind = type(reply)
  if kind == 'number' then
    out[#out + 1] = string.format(':%.0f\r\n', reply < 0 and math.ceil(reply) or math.floor(reply))
  elseif kind == 'string' then
    out[#out + 1] = '$' .. #reply .. '\r\n' .. reply .. '\r\n'
  elseif kind ~= 'table' then
    out[#out + 1] = reply == true and ':1\r\n' or '$-1\r\n'
  elseif reply.err then
    out[#out + 1] = '-' .. string.gsub(reply.err, '[\r\n]+', ' ') .. '\r\n'
  elseif reply.ok then
    out[#out + 1] = '+' .. reply.ok .. '\r\n'
  else
    local length = 0
    while reply[length + 1] ~= nil do length = length + 1 end
    out[#out + 1] = '*' .. length .. '\r\n'
    for place = 1, length do encode(reply[place], out) end
  end
end

-- The command that begins at a place of what came, and where the next one does; nil while it is not whole.
local function command_at(text, at)
  local count, next_at = string.match(text, '^%*(%d+)\r\n()', at)
  if not count then
    if #text >= at and not string.find(text, '^%*%d*\r?$', at) then fail('ERR Protocol error: a command is an array') end
    return nil
  end
  local words = {}
  for _ = 1, tonumber(count) do
    local length, from = string.match(text, '^%$(%d+)\r\n()', next_at)
    if not length or #text < from + length + 1 then return nil end
    words[#words + 1] = string.sub(text, from, from + length - 1)
    next_at = from + length + 2
  end
  return words, next_at
end

-- The keys. What has come to its end is gone with the next look at it, as nobody can tell from the outside.

local now_us = 0
local entries = {}

local function now_ms()
  return now_us / 1000
end

local function live(key)
  local entry = entries[key]
  if entry and entry.ends and entry.ends <= now_ms() then
    entries[key] = nil
    return nil
  end
  return entry
end

-- What a key holds; an error when that is of another kind.
local function get(key, kind)
  local entry = live(key)
  if entry and entry.kind ~= kind then fail(wrong_type) end
  return entry and entry.value
end

-- The same, made where it is missing. A hash, a set and a sorted set know how many they are; the latter has its order while it stands.
local function made(key, kind)
  local value = get(key, kind)
  if value then return value end
  value = (kind == 'list' or kind == 'string') and {} or { of = {}, size = 0 }
  entries[key] = { kind = kind, value = value }
  return value
end

local function kind_of(key)
  local entry = live(key)
  return entry and entry.kind or 'none'
end

local function drop_empty(key)
  local entry = entries[key]
  if entry and entry.kind ~= 'string' and (entry.value.size or #entry.value) == 0 then entries[key] = nil end
end

local function delete(key)
  local was_there = live(key) ~= nil
  entries[key] = nil
  return was_there
end

local function expire(key, ends)
  local entry = live(key)
  if entry then entry.ends = ends end
  return entry ~= nil
end

-- Sorted, so that what is told of them is told alike each time.
local function names()
  local found = {}
  for key in pairs(entries) do
    if live(key) then found[#found + 1] = key end
  end
  table.sort(found)
  return found
end

-- Of a hash, a set or a sorted set. Returns whether it is new.
local function put(holder, name, value)
  local is_new = holder.of[name] == nil
  holder.of[name] = value
  if is_new then holder.size = holder.size + 1 end
  holder.sorted = nil
  return is_new
end

local function take(holder, name)
  if not holder or holder.of[name] == nil then return false end
  holder.of[name] = nil
  holder.size = holder.size - 1
  holder.sorted = nil
  return true
end

-- Members by score, and by their bytes where that is equal.
local function sorted(set)
  if not set then return {} end
  if not set.sorted then
    local found = {}
    for member, score in pairs(set.of) do found[#found + 1] = { member = member, score = score } end
    table.sort(found, function(a, b)
      if a.score ~= b.score then return a.score < b.score end
      return a.member < b.member
    end)
    set.sorted = found
  end
  return set.sorted
end

local function end_of(text)
  local is_open = string.sub(text, 1, 1) == '('
  return score_of(is_open and string.sub(text, 2) or text, 'ERR min or max is not a float'), is_open
end

-- Those whose scores lie between two ends as Redis writes them: (5, -inf.
local function between(set, low, high)
  local from, from_open = end_of(low)
  local to, to_open = end_of(high)
  local found = {}
  for _, each in ipairs(sorted(set)) do
    local score = each.score
    if (score > from or (score == from and not from_open)) and (score < to or (score == to and not to_open)) then
      found[#found + 1] = each
    end
  end
  return found
end

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

-- Commands about lists.

local function take_first(key, count)
  local list = get(key, 'list')
  if not list then return false end
  local taken = {}
  for _ = 1, math.min(#list, count and integer_of(count) or 1) do taken[#taken + 1] = table.remove(list, 1) end
  drop_empty(key)
  if count then return taken end
  return taken[1]
end
commands.lpop = { 1, take_first }

commands.lpush = { 2, function(key, ...)
  local list = made(key, 'list')
  for _, text in ipairs({ ... }) do table.insert(list, 1, text) end
  return #list
end }

commands.rpush = { 2, function(key, ...)
  local list = made(key, 'list')
  for _, text in ipairs({ ... }) do list[#list + 1] = text end
  return #list
end }

commands.llen = { 1, function(key)
  return #(get(key, 'list') or {})
end }

commands.lindex = { 2, function(key, place)
  local list, at = get(key, 'list') or {}, integer_of(place)
  return list[at < 0 and #list + at + 1 or at + 1] or false
end }

commands.lrange = { 3, function(key, first, last)
  local list = get(key, 'list') or {}
  return slice(list, range_of(first, last, #list))
end }

-- What is kept of a list; it stays the same table.
local function keep(key, list, kept)
  for place = math.max(#list, #kept), 1, -1 do list[place] = kept[place] end
  drop_empty(key)
end

commands.ltrim = { 3, function(key, first, last)
  local list = get(key, 'list')
  if list then keep(key, list, slice(list, range_of(first, last, #list))) end
  return ok
end }

-- A count above 0: so many from the head; below: from the tail; 0: all.
commands.lrem = { 3, function(key, count, text)
  local list = get(key, 'list')
  if not list then return 0 end
  local most = integer_of(count)
  local left = most == 0 and #list or math.abs(most)
  local gone, removed = {}, 0
  local first, last, step = 1, #list, 1
  if most < 0 then first, last, step = #list, 1, -1 end
  for place = first, last, step do
    if removed < left and list[place] == text then
      gone[place] = true
      removed = removed + 1
    end
  end
  local kept = {}
  for place, each in ipairs(list) do
    if not gone[place] then kept[#kept + 1] = each end
  end
  keep(key, list, kept)
  return removed
end }

commands.lpos = { 2, function(key, text)
  for place, each in ipairs(get(key, 'list') or {}) do
    if each == text then return place - 1 end
  end
  return false
end }

-- From one list to another as LEFT and RIGHT say; false when there is nothing.
local function move_one(from, to, whence, whither)
  local list = get(from, 'list')
  if not list then return false end
  -- What the other one is, is looked at before anything is taken.
  get(to, 'list')
  local text = table.remove(list, string.upper(whence) == 'LEFT' and 1 or #list)
  local other = made(to, 'list')
  table.insert(other, string.upper(whither) == 'LEFT' and 1 or #other + 1, text)
  drop_empty(from)
  return text
end

-- What waits for a list, and their time in seconds at their end: what is tried, and for how long. Functions may not wait.
local waiting = {}

function waiting.blpop(words)
  return function()
    for place = 1, #words - 1 do
      local key = words[place]
      if kind_of(key) ~= 'none' then return { key, take_first(key) } end
    end
    return false
  end
end

function waiting.blmove(words)
  return function()
    return move_one(unpack(words, 1, 4))
  end
end

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

-- Commands about sorted sets.

local function told(found, with_scores)
  local answer = {}
  for _, each in ipairs(found) do
    answer[#answer + 1] = each.member
    if with_scores then answer[#answer + 1] = number_text(each.score) end
  end
  return answer
end

local flags_of_zadd = { NX = true, XX = true, LT = true, GT = true, CH = true }

-- Flags of ZADD exclude each other.
local function check_flags(flags)
  if flags.NX and flags.XX then fail('ERR XX and NX options at the same time are not compatible') end
  if (flags.NX and (flags.LT or flags.GT)) or (flags.LT and flags.GT) then
    fail('ERR GT, LT, and/or NX options at the same time are not compatible')
  end
end

local function may_set(flags, before, score)
  if before == nil then return not flags.XX end
  return not flags.NX and not (flags.LT and score >= before) and not (flags.GT and score <= before)
end

commands.zadd = { 3, function(key, ...)
  local words, flags, at = { ... }, {}, 1
  while words[at] and flags_of_zadd[string.upper(words[at])] do
    flags[string.upper(words[at])] = true
    at = at + 1
  end
  if at > #words or (#words - at) % 2 ~= 1 then syntax_error() end
  check_flags(flags)
  -- What is no score is refused before anything is written.
  local scored = {}
  for place = at, #words, 2 do scored[#scored + 1] = { words[place + 1], score_of(words[place]) } end
  local set = get(key, 'zset') or (not flags.XX and made(key, 'zset')) or nil
  local added, changed = 0, 0
  for _, each in ipairs(set and scored or {}) do
    local member, score = each[1], each[2]
    local before = set.of[member]
    if may_set(flags, before, score) then
      if before == nil then added = added + 1 elseif before ~= score then changed = changed + 1 end
      put(set, member, score)
    end
  end
  return flags.CH and added + changed or added
end }

-- The words behind a range.
local function read_flags(words, known)
  local flags, from, count, at = {}, nil, nil, 1
  while words[at] do
    local word = string.upper(words[at])
    if word == 'LIMIT' then
      from, count = integer_of(words[at + 1]), integer_of(words[at + 2])
      at = at + 2
    elseif known[word] then
      flags[word] = true
    else
      syntax_error()
    end
    at = at + 1
  end
  -- Below 0: all that there are behind the first.
  local function cut(found)
    if not from then return found end
    return slice(found, from + 1, count < 0 and #found or math.min(#found, from + count))
  end
  return flags, cut, from ~= nil
end

local function reversed(found)
  local turned = {}
  for place = #found, 1, -1 do turned[#turned + 1] = found[place] end
  return turned
end

commands.zrange = { 3, function(key, first, last, ...)
  local flags, cut, is_limited = read_flags({ ... }, { REV = true, WITHSCORES = true, BYSCORE = true })
  local set = get(key, 'zset')
  if flags.BYSCORE then
    local low, high = first, last
    if flags.REV then low, high = last, first end
    local found = between(set, low, high)
    return told(cut(flags.REV and reversed(found) or found), flags.WITHSCORES)
  end
  if is_limited then fail('ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX') end
  local found = flags.REV and reversed(sorted(set)) or sorted(set)
  return told(slice(found, range_of(first, last, #found)), flags.WITHSCORES)
end }

commands.zrangebyscore = { 3, function(key, low, high, ...)
  local flags, cut = read_flags({ ... }, { WITHSCORES = true })
  return told(cut(between(get(key, 'zset'), low, high)), flags.WITHSCORES)
end }

commands.zcard = { 1, function(key)
  return (get(key, 'zset') or nobody).size
end }
commands.zcount = { 3, function(key, low, high)
  return #between(get(key, 'zset'), low, high)
end }
commands.zscore = { 2, function(key, member)
  local score = (get(key, 'zset') or nobody).of[member]
  return score and number_text(score) or false
end }

commands.zrank = { 2, function(key, member)
  for place, each in ipairs(sorted(get(key, 'zset'))) do
    if each.member == member then return place - 1 end
  end
  return false
end }

local function removed(key, members)
  local set, gone = get(key, 'zset'), 0
  for _, member in ipairs(members) do gone = gone + (take(set, member) and 1 or 0) end
  drop_empty(key)
  return gone
end

commands.zrem = { 2, function(key, ...)
  return removed(key, { ... })
end }
commands.zremrangebyscore = { 3, function(key, low, high)
  return removed(key, told(between(get(key, 'zset'), low, high)))
end }
commands.zremrangebyrank = { 3, function(key, first, last)
  local found = sorted(get(key, 'zset'))
  return removed(key, told(slice(found, range_of(first, last, #found))))
end }
commands.zpopmin = { 1, function(key, count)
  local found = sorted(get(key, 'zset'))
  local first = slice(found, 1, math.min(#found, count and integer_of(count) or 1))
  removed(key, told(first))
  return told(first, true)
end }

local function run_command(words)
  local name = string.lower(words[1] or '')
  local command = commands[name]
  if not command then fail("ERR unknown command '" .. name .. "': the Redis in memory knows what pshub needs") end
  if #words - 1 < command[1] then fail("ERR wrong number of arguments for '" .. name .. "' command") end
  return command[2](unpack(words, 2))
end

-- cjson, as Redis gives it to functions.

local null = newproxy()
local escapes = { ['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t' }
local unescapes = { b = '\b', f = '\f', n = '\n', r = '\r', t = '\t' }

local function quoted(text)
  return '"' .. string.gsub(text, '[%z\1-\31"\\/\127]', function(char)
    return escapes[char] or string.format('\\u%04x', string.byte(char))
  end) .. '"'
end

-- A table without anything is an object.
local function encode_json(value)
  local kind = type(value)
  if kind == 'string' then return quoted(value) end
  if kind == 'number' then return string.format('%.14g', value) end
  if kind == 'boolean' then return tostring(value) end
  if kind ~= 'table' then return 'null' end
  local parts, is_list = {}, next(value) ~= nil
  for name in pairs(value) do is_list = is_list and type(name) == 'number' end
  if is_list then
    for place = 1, table.maxn(value) do parts[place] = encode_json(value[place]) end
    return '[' .. table.concat(parts, ',') .. ']'
  end
  for name, each in pairs(value) do parts[#parts + 1] = quoted(tostring(name)) .. ':' .. encode_json(each) end
  return '{' .. table.concat(parts, ',') .. '}'
end

local function utf8(code)
  if code < 0x80 then return string.char(code) end
  local bytes, first = {}, code < 0x800 and 0xC0 or code < 0x10000 and 0xE0 or 0xF0
  for _ = 1, code < 0x800 and 1 or code < 0x10000 and 2 or 3 do
    table.insert(bytes, 1, string.char(0x80 + code % 64))
    code = math.floor(code / 64)
  end
  return string.char(first + code) .. table.concat(bytes)
end

local function not_json(at)
  error('Expected value but found invalid token at character ' .. at, 0)
end

local function text_at(json, at)
  local parts = {}
  while true do
    local plain, stop, next_at = string.match(json, '^([^"\\%z\1-\31]*)(["\\])()', at)
    if not plain then not_json(at) end
    parts[#parts + 1] = plain
    if stop == '"' then return table.concat(parts), next_at end
    local char = string.sub(json, next_at, next_at)
    at = next_at + 1
    if char == 'u' then
      local code = tonumber(string.match(json, '^%x%x%x%x', at) or not_json(at), 16)
      at = at + 4
      local low = code >= 0xD800 and code < 0xDC00 and string.match(json, '^\\u([dD][c-fC-F]%x%x)', at)
      if low then
        code = 0x10000 + (code - 0xD800) * 0x400 + (tonumber(low, 16) - 0xDC00)
        at = at + 6
      end
      parts[#parts + 1] = utf8(code)
    else
      if not string.find(char, '^["\\/bfnrt]$') then not_json(at) end
      parts[#parts + 1] = unescapes[char] or char
    end
  end
end

local value_at

-- Members of a list or an object, from behind its first mark up to its last one.
local function members_at(json, at, last, read)
  local first_end = string.match(json, '^%s*' .. last .. '()', at)
  if first_end then return first_end end
  while true do
    at = read(at)
    local mark, next_at = string.match(json, '^%s*([,%]}])()', at)
    if not mark then not_json(at) end
    at = next_at
    if mark ~= ',' then
      if not string.find(mark, last) then not_json(at) end
      return at
    end
  end
end

function value_at(json, at)
  at = string.match(json, '^%s*()', at)
  local char = string.sub(json, at, at)
  if char == '"' then return text_at(json, at + 1) end
  local found = {}
  if char == '[' then
    return found, members_at(json, at + 1, '%]', function(place)
      found[#found + 1], place = value_at(json, place)
      return place
    end)
  end
  if char == '{' then
    return found, members_at(json, at + 1, '}', function(place)
      local name, colon
      name, place = text_at(json, string.match(json, '^%s*"()', place) or not_json(place))
      colon = string.match(json, '^%s*:()', place) or not_json(place)
      found[name], place = value_at(json, colon)
      return place
    end)
  end
  local word, word_end = string.match(json, '^(%a+)()', at)
  if word == 'true' or word == 'false' then return word == 'true', word_end end
  if word == 'null' then return null, word_end end
  local number, number_end = string.match(json, '^(-?%d+%.?%d*[eE]?[+-]?%d*)()', at)
  return tonumber(number or not_json(at)) or not_json(at), number_end
end

local function decode_json(json)
  local value, at = value_at(json, 1)
  if string.find(json, '%S', at) then not_json(at) end
  return value
end

-- The library of Redis Functions: the text that a Redis is given, run with what Redis gives to it.

local functions, library = {}, nil

local function word_of(value)
  if type(value) == 'number' then return number_text(value) end
  if type(value) ~= 'string' then fail('ERR Lua redis lib command arguments must be strings or integers') end
  return value
end

local function call(...)
  local words = { ... }
  for place = 1, select('#', ...) do words[place] = word_of(words[place]) end
  return run_command(words)
end

-- An error as Redis answers with it.
local function failure(problem)
  if type(problem) == 'table' and problem.err then return problem end
  return { err = 'ERR ' .. tostring(problem) }
end

local function attempt(run, ...)
  local done, answer = pcall(run, ...)
  if done then return answer end
  return failure(answer)
end

redis = {
  call = call,
  pcall = function(...)
    return attempt(call, ...)
  end,
  error_reply = function(text)
    return { err = text }
  end,
  status_reply = function(text)
    return { ok = text }
  end,
  acl_check_cmd = function()
    return true
  end,
  log = function() end,
  LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
  register_function = function(name, callback)
    if type(name) == 'table' then name, callback = name.function_name, name.callback end
    functions[name] = callback
  end,
}
cjson = { decode = decode_json, encode = encode_json, null = null }

local function load_library(words)
  local verb = string.lower(words[2] or '')
  if verb == 'flush' then
    functions, library = {}, nil
    return ok
  end
  if verb ~= 'load' then fail("ERR unknown subcommand '" .. tostring(words[2]) .. "'") end
  local text = words[#words]
  local name, body = string.match(text, '^#!lua name=([%w_]+)%s*()\n')
  if not name then fail('ERR Missing library metadata') end
  if library and string.upper(words[3]) ~= 'REPLACE' then fail("ERR Library '" .. name .. "' already exists") end
  local chunk, problem = loadstring(string.sub(text, body), '@user_function')
  if not chunk then fail('ERR Error compiling function: ' .. problem) end
  functions, library = {}, name
  chunk()
  return name
end

-- What was put into Redis as a job, in its order: queue, when in microseconds, and the message.
local enqueued = {}

-- What was refused, or was there already, is none.
local function note_enqueued(keys, args, reply)
  if type(reply) ~= 'table' or reply[2] ~= 0 then return end
  local twins = {}
  for at = 3, #reply, 2 do twins[reply[at]] = true end
  for at = 3, #args do
    if not twins[at - 2] then
      enqueued[#enqueued + 1] = string.match(keys[1], '{([^}]*)}')
      enqueued[#enqueued + 1] = word_of(reply[1])
      enqueued[#enqueued + 1] = args[at]
    end
  end
end

local function run_function(words)
  local name, count = words[2], integer_of(words[3])
  if not functions[name] then fail('ERR Function not found') end
  local keys, args = slice(words, 4, 3 + count), slice(words, 4 + count, #words)
  local reply = functions[name](keys, args)
  if name == 'pshub_1_enqueue' then note_enqueued(keys, args, reply) end
  return reply
end

-- Connections, of which the host moves the bytes: what came on one goes in, what goes out on any comes back.

local connections, last_id = {}, 0
-- Commands that wait for a list, the one that has waited for the longest first.
local waits = {}
local command_count = 0
local outgoing = {}

local info = table.concat({
  'redis_version:7.2.0', 'redis_mode:standalone', 'role:master', 'loading:0', 'aof_enabled:1', 'maxmemory:0',
  'maxmemory_policy:noeviction', 'used_memory:0', '',
}, '\r\n')

local function say(connection, reply)
  encode(reply, connection.out)
  outgoing[connection.id] = connection
end

local function end_wait(wait, reply)
  for place, each in ipairs(waits) do
    if each == wait then table.remove(waits, place) end
  end
  wait.connection.wait = nil
  say(wait.connection, reply)
end

local function answer_client(connection, words)
  local verb = string.lower(words[2] or '')
  if verb == 'id' then return connection.id end
  if verb ~= 'unblock' then return ok end
  local other = connections[integer_of(words[3])]
  if not other or not other.wait then return 0 end
  end_wait(other.wait, false)
  return 1
end

local direct = {
  fcall = run_function,
  ['function'] = load_library,
  info = function() return info end,
  ping = function() return { ok = 'PONG' } end,
  auth = function() return ok end,
  select = function() return ok end,
  -- There are no replicas, and none are waited for.
  wait = function() return 0 end,
  cluster = function() fail('ERR This instance has cluster support disabled') end,
}

-- The answer, or nothing when it is waited for.
local function execute(connection, words)
  command_count = command_count + 1
  local name = string.lower(words[1])
  if name == 'client' then return answer_client(connection, words) end
  if not waiting[name] then return (direct[name] or run_command)(words) end
  local ms = score_of(words[#words], 'ERR timeout is not a float or out of range') * 1000
  local try = waiting[name](slice(words, 2, #words))
  local reply = try()
  if reply then return reply end
  -- 0: for as long as it takes.
  local wait = { connection = connection, try = try, ends_us = ms > 0 and now_us + ms * 1000 or math.huge }
  connection.wait = wait
  waits[#waits + 1] = wait
  return nil
end

-- Something was written: what can go on does.
local function wake()
  local woken
  repeat
    woken = nil
    for _, wait in ipairs(waits) do
      local reply = attempt(wait.try)
      if reply then
        woken = { wait, reply }
        break
      end
    end
    if woken then end_wait(woken[1], woken[2]) end
  until not woken
end

-- Commands of a connection run in their order: behind one that waits the others wait, too.
local function serve_all()
  local moved
  repeat
    moved = false
    for _, connection in pairs(connections) do
      while not connection.wait and connection.commands[connection.next] do
        local words = connection.commands[connection.next]
        connection.commands[connection.next] = nil
        connection.next = connection.next + 1
        local reply = attempt(execute, connection, words)
        if reply ~= nil or not connection.wait then say(connection, reply == nil and false or reply) end
        wake()
        moved = true
      end
    end
  until not moved
end

-- What goes out: the number of a connection, and bytes.
local function flushed()
  local flat = {}
  for id, connection in pairs(outgoing) do
    flat[#flat + 1] = tostring(id)
    flat[#flat + 1] = table.concat(connection.out)
    connection.out = {}
  end
  outgoing = {}
  return flat
end

local host = {}

function host.open()
  last_id = last_id + 1
  connections[last_id] = { id = last_id, rest = '', commands = {}, next = 1, last = 0, out = {} }
  return { tostring(last_id) }
end

function host.close(id)
  local connection = connections[tonumber(id)]
  if not connection then return {} end
  if connection.wait then end_wait(connection.wait, false) end
  connections[connection.id], outgoing[connection.id] = nil, nil
  return {}
end

function host.feed(id, bytes)
  local connection = connections[tonumber(id)]
  if not connection then return {} end
  local text, at = connection.rest .. bytes, 1
  while true do
    local words, next_at = command_at(text, at)
    if not words then break end
    connection.last = connection.last + 1
    connection.commands[connection.last] = words
    at = next_at
  end
  connection.rest = string.sub(text, at)
  serve_all()
  return flushed()
end

-- What has waited for as long as it may ends with nothing.
function host.tick()
  for _, wait in ipairs(slice(waits, 1, #waits)) do
    if wait.ends_us <= now_us and wait.connection.wait == wait then end_wait(wait, false) end
  end
  serve_all()
  return flushed()
end

-- One command from outside of any connection, as redis-cli would run it; who waits for what it wrote is told by the next tick.
function host.command(...)
  local words = { ... }
  local out = {}
  encode(attempt(direct[string.lower(words[1])] or run_command, words), out)
  wake()
  return { table.concat(out) }
end

-- What a test looks at from the outside.

-- How many commands were run, when the first wait ends, microseconds, and how many connections there are.
function host.look()
  local soonest, count = math.huge, 0
  for _, wait in ipairs(waits) do soonest = math.min(soonest, wait.ends_us) end
  for _ in pairs(connections) do count = count + 1 end
  return { tostring(command_count), number_text(soonest), tostring(count) }
end

local function queues()
  local found, seen = {}, {}
  for _, name in ipairs(names()) do
    local base = string.match(name, '^[^:]+:{[^}]+}:')
    if base and not seen[base] and string.sub(base, -1) == ':' then
      seen[base] = true
      found[#found + 1] = base
    end
  end
  return found
end

-- Sets of what is to be done at a time, Redis milliseconds.
local due_sets = { 'scheduled', 'retries', 'later', 'ticks' }

local function due_between(base, from, to)
  local found = {}
  for _, name in ipairs(due_sets) do
    if kind_of(base .. name) == 'zset' then
      for _, each in ipairs(between(get(base .. name, 'zset'), from, to)) do found[#found + 1] = each.score end
    end
  end
  return found
end

-- When the next job or schedule is due behind now, Redis milliseconds.
function host.due()
  local soonest = math.huge
  for _, base in ipairs(queues()) do
    for _, score in ipairs(due_between(base, '(' .. number_text(now_ms()), '+inf')) do soonest = math.min(soonest, score) end
  end
  return { number_text(soonest) }
end

-- What is to be run now and has not ended: the key that it lies in, and how much.
function host.left()
  local left = {}
  local function note(name, count)
    if count == 0 then return end
    left[#left + 1] = name
    left[#left + 1] = tostring(count)
  end
  for _, base in ipairs(queues()) do
    for _, name in ipairs({ 'calls', 'jobs', 'jobs:high', 'jobs:low' }) do
      if kind_of(base .. name) == 'list' then note(base .. name, #get(base .. name, 'list')) end
    end
    if kind_of(base .. 'keyed') == 'zset' then note(base .. 'keyed', #between(get(base .. 'keyed', 'zset'), '-inf', '(+inf')) end
    note(base .. 'scheduled', #due_between(base, '-inf', number_text(now_ms())))
    for _, name in ipairs(names()) do
      local is_held = string.sub(name, 1, #base + 5) == base .. 'held:'
      if is_held and kind_of(name) == 'hash' then note(name, get(name, 'hash').size) end
    end
  end
  return left
end

-- Leases of workers that died end then, Redis milliseconds.
function host.lapse(ends, ...)
  for _, base in ipairs(queues()) do
    for _, worker in ipairs({ ... }) do
      if kind_of(base .. 'leases') == 'zset' then run_command({ 'zadd', base .. 'leases', 'XX', ends, worker }) end
    end
  end
  return {}
end

-- Of each job that came behind the first so many, but of a hundred at most: its queue, when it was put there, microseconds, and its message.
function host.enqueued(from)
  local first = tonumber(from) * 3
  return slice(enqueued, first + 1, math.min(#enqueued, first + 300))
end

for _, name in ipairs({ 'io', 'os', 'debug', 'package', 'require', 'dofile', 'loadfile', 'print', 'python' }) do _G[name] = nil end

-- All that the host asks: what, when in microseconds, and with what. Texts go in, and texts come out.
return function(verb, at_us, ...)
  now_us = tonumber(at_us)
  return unpack(host[verb](...))
end
