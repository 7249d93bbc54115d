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
