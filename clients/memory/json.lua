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
