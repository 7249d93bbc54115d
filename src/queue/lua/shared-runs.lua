-- How a run of merged jobs is taken; shared-merged.lua comes before it, and says what a run is.

-- So many payloads are taken blindly at first. How many more at once, the largest of those says: what turns out to be too much goes back.
local first_payloads = 8

-- What each of them costs beside its bytes, in bytes of others: 2,500 of them take Redis some milliseconds.
local payload_bytes = 400

-- Takes the payloads of the lowest scores of a key: so many at most, and not more than so many bytes, which one of them may exceed. Returns
-- them, their sizes and scores as JSON, their bytes, and whether none is left; nil when the key has none.
local function take_payloads(jobs, task, key, most, bytes)
  local set, payloads, sizes, total, largest = merged_of(jobs, task, key), {}, {}, 0, 1
  local page, is_over = math.min(first_payloads, most), false
  while page > 0 and not is_over do
    local popped = redis.pcall('ZPOPMIN', set, page)
    local count = popped.err and 0 or #popped / 2
    for i = 1, count * 2, 2 do
      if is_over then
        redis.call('ZADD', set, popped[i + 1], popped[i])
      else
        payloads[#payloads + 1] = popped[i]
        sizes[#sizes + 1] = #popped[i] .. ',' .. score_text(popped[i + 1])
        total = total + #popped[i] + payload_bytes
        largest = math.max(largest, #popped[i] + payload_bytes)
        is_over = total >= bytes
      end
    end
    if count < page then break end
    page = math.min(most - #payloads, math.max(1, math.floor((bytes - total) / largest)))
  end
  if not payloads[1] then return nil end
  -- Whoever took all that was there need not look whether there is more.
  local is_all = #payloads < math.min(first_payloads, most) and not is_over or not has_merged(jobs, task, key)
  return payloads, table.concat(sizes, ','), total, is_all
end

-- Takes one run of keys that are due, `found` from `from` on: key, since when, key, since when, ...; `states`: how each of them failed so
-- far. `rule`: how many keys and payloads at most. One that a worker was lost with runs alone: so it takes no others along when it is given
-- up. Returns its message, its id, its keys, and which of `found` is next. Adds to `others` which of them have no payloads.
local function take_run(jobs, task, found, from, rule, bytes, states, fence, others)
  local parts, args, keys, at, used, emptied = {}, {}, {}, nil, 0, 0
  while found[from] and #keys < rule.batch and (used < bytes or not keys[1]) do
    local key, state = found[from], states[(from + 1) / 2]
    local is_alone = state and string.find(state, '"losses"', 1, true)
    if is_alone and keys[1] then break end
    local payloads, sizes, size, is_all = take_payloads(jobs, task, key, rule.payloads, bytes - used)
    if payloads then
      keys[#keys + 1] = key
      local tries = math.min(1000000, tonumber(state and string.match(state, '^{"tries":(%d+)') or 0))
      parts[#parts + 1] = string.format('[%s,%d,[', json_text(key), tries) .. sizes .. ']]'
      args[#args + 1] = table.concat(payloads, ',')
      at = at or string.format('%.0f', math.max(0, math.min(1e16, tonumber(found[from + 1]))))
      used = used + size
      if is_all then emptied = emptied + 1 end
    else
      others[#others + 1] = key
      others[#others + 1] = found[from + 1]
    end
    from = from + 2
    if is_alone and payloads then break end
  end
  if not keys[1] then return nil, nil, keys, from end
  if emptied > 0 then count_lined(jobs, task, -emptied) end
  local id = 'm-' .. fence
  local part = '{"fence":' .. fence .. ',"run":[' .. table.concat(parts, ',') .. ']}'
  local head = '{"at":' .. at .. ',"ttl":0,"id":"' .. id .. '","job":' .. part .. ',"task":"' .. task
  return head .. '","args":[' .. table.concat(args, ',') .. ']}', id, keys, from
end
