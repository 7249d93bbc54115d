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
