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
