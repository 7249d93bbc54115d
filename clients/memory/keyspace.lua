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
