import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { republishMs } from '../../src/catalogue.ts'
import { settingsTable } from '../../src/config.ts'
import { blockSeconds } from '../../src/connections.ts'
import { errorTable, fromWire, type WireError } from '../../src/errors.ts'
import { abandonAfterMs } from '../../src/executor.ts'
import { newId } from '../../src/ids.ts'
import { defineTask } from '../../src/index.ts'
import { hubIdOf, isId, isNamespace, isQueueName, makeKeys } from '../../src/keys.ts'
import {
  decodeReply,
  decodeRequest,
  errorReply,
  MalformedMessage,
  okReply,
  requestBody,
  requestTail,
  stamped,
} from '../../src/message.ts'
import { newestFirst, parseCalledName, parseTaskName, tryParseTaskName } from '../../src/names.ts'
import { decodePayload, encodePayload, maxDepth, PayloadProblem } from '../../src/payload.ts'
import { pushMemoryMs, Queue, replyTtlMs } from '../../src/queue.ts'
import type { Redis } from '../../src/redis.ts'
import { beatMs, beatsPerLease } from '../../src/roles/beat.ts'
import { foreignBounds } from '../../src/schema.ts'
import { cardOf, defaultTimeoutMs, maxTimeoutMs } from '../../src/task.ts'

/** PROTOCOL.md and the golden files of other languages, held against the code that they describe. */
const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const protocol = read('PROTOCOL.md')

/** The text under a heading, up to the next one of the same or a higher level. */
const section = (title: string): string => {
  const lines = protocol.split('\n')
  const start = lines.findIndex(line => /^#+ /.test(line) && line.endsWith(title))
  expect(start, `PROTOCOL.md has no section '${title}'`).toBeGreaterThan(0)
  const level = lines[start]!.indexOf(' ')
  const length = lines.slice(start + 1).findIndex(line => /^#+ /.test(line) && line.indexOf(' ') <= level)
  return lines.slice(start, length === -1 ? undefined : start + 1 + length).join('\n')
}

/** The rows of a section's first table, without its head. */
const rowsOf = (text: string): string[][] => {
  const lines = text.split('\n')
  const start = lines.findIndex(line => line.startsWith('| ---'))
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'))
  return lines.slice(start + 1, end === -1 ? undefined : end).map(line =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map(cell => cell.trim().replaceAll('\\|', '|')),
  )
}

const unquoted = (cell: string) => cell.replaceAll('`', '')
const examples = (kind: string) =>
  [...protocol.matchAll(new RegExp(`^\`\`\`json ${kind}\\n(.*)\\n\`\`\`$`, 'gm'))].map(match => match[1]!)

/** What the code sends for one operation of the queue `<queue>`. */
const sentBy = async (operate: (queue: Queue, client: Redis) => Promise<unknown>) => {
  let sent: string[] = []
  const record = async (_script: string, keyCount: number, ...rest: unknown[]) => {
    sent = [String(keyCount), ...rest.map(String)]
    return []
  }
  const client = { evalsha: record, eval: record }
  await operate(new Queue('<queue>', makeKeys('pshub')), client as unknown as Redis).catch(() => undefined)
  const keyCount = Number(sent[0])
  return { keys: sent.slice(1, keyCount + 1), args: sent.slice(keyCount + 1) }
}

describe('PROTOCOL.md', () => {
  it('has the error table of the code', () => {
    const rows = rowsOf(section('7. Errors')).map(([code, ...rest]) => [unquoted(code!), ...rest])
    const expected = Object.entries(errorTable).map(([code, { ran, retryable, status, meaning }]) => [
      code,
      ran,
      retryable ? 'yes' : 'no',
      String(status),
      meaning,
    ])
    expect(rows).toEqual(expected)
  })

  it('names every key as the code does', () => {
    const keys = makeKeys('pshub')
    const { held, pushed, ...lists } = keys.queue('<queue>')
    const all = [keys.tasks, keys.workers, keys.stats, ...Object.values(lists)]
    all.push(held('<worker>'), pushed('<hub>'), keys.reply('<hub>'), keys.read('<hub>'))
    expect(rowsOf(section('2. Keys')).map(([key]) => unquoted(key!))).toEqual(all)
    // And nowhere in its text another one.
    const named = protocol.replaceAll(/^ACL .*$/gm, '').matchAll(/pshub:[a-z{][\w:{}<>-]*/g)
    const known = all.map(key => key.replace(/<\w+>/g, '*'))
    for (const [key] of named) {
      const shape = key.replace(/<[^>]*>?/g, '*').replace(/\{[\w-]{20,}\}/, '{*}')
      expect(known, key).toContain(shape)
    }
  })

  it('has the patterns of names and ids', () => {
    const patterns = new Map(rowsOf(section('3. Names and ids')).map(([what, pattern]) => [what, unquoted(pattern!)]))
    const checks: [string, (text: string) => boolean][] = [
      ['namespace', isNamespace],
      ['queue', isQueueName],
      ['id', isId],
      ['task', text => tryParseTaskName(text) !== undefined],
      ['task as called', text => parseCalledName(text) !== undefined],
    ]
    expect([...patterns.keys()]).toEqual(checks.map(([what]) => what))
    for (const [what, check] of checks) {
      const pattern = new RegExp(`^(?:${patterns.get(what)})$`)
      const close = fc.stringMatching(new RegExp(`^(?:${patterns.get(what)})$`))
      const nearby = fc
        .tuple(close, fc.constantFrom('', '\n', ' ', ':', '.', 'é', '}', '-', 'a'.repeat(64)))
        .map(parts => parts.join(''))
      fc.assert(
        fc.property(fc.oneof(close, nearby, fc.string()), text => {
          expect(check(text), `${what}: ${JSON.stringify(text)}`).toBe(pattern.test(text))
        }),
      )
    }
    expect(newId()).toMatch(/^[A-Za-z0-9_-]{22}$/)
  })

  it('has the numbers of the code', async () => {
    const { maxPayloadBytes, maxBacklog, leaseMs, maxBlockedMs, graceMs } = settingsTable
    const numbers = Object.fromEntries(rowsOf(section('12. Numbers')))
    const cancel = await sentBy((queue, client) => queue.cancel(client, '', ''))
    const beat = await sentBy((queue, client) => queue.beat(client, '', 4000, true))
    const adopt = await sentBy((queue, client) => queue.adopt(client, '', ''))
    expect(numbers['memory of a cancellation, ms']).toBe(cancel.args.at(-1))
    expect(numbers['memory of a cancellation, ms']).toBe(beat.args.at(-1))
    expect(numbers['requests moved per adoption']).toBe(adopt.args.at(-1))
    expect(numbers).toMatchObject({
      'deepest nesting of arguments and results': String(maxDepth),
      'largest arguments or result, bytes': String(maxPayloadBytes.fallback),
      'longest backlog a hub pushes to': String(maxBacklog.fallback),
      'beat, ms': String(beatMs),
      'lease, ms': String(leaseMs.fallback),
      'beats per lease, at least': String(beatsPerLease),
      'longest time without a turn of the loop in which the lease is kept, ms': String(maxBlockedMs.fallback),
      'block of `BLPOP` and `BLMOVE`, s': String(blockSeconds),
      'memory of a push number, ms': String(pushMemoryMs),
      'life of a reply list after its last reply, ms': String(replyTtlMs),
      'time for a handler after its deadline, ms': String(abandonAfterMs),
      'default `timeoutMs`': String(defaultTimeoutMs),
      'longest time of a call, ms': String(maxTimeoutMs),
      'grace when leaving, ms': String(graceMs.fallback),
      'cards are rewritten every, ms': String(republishMs),
    })
    const bounds = section('9.3 Checking arguments')
    for (const bound of Object.values(foreignBounds)) expect(bounds).toContain(` ${bound} `)
  })

  it('says the same about each script as its header', () => {
    const scripts = readdirSync(new URL('src/lua/', root)).filter(file => file.endsWith('.lua'))
    const rows = rowsOf(section('13. Scripts'))
    expect(rows.map(([file]) => unquoted(file!)).sort()).toEqual(scripts.sort())
    for (const [file, keyCount, argCount, list] of rows) {
      const text = read(`src/lua/${unquoted(file!)}`)
      expect(text.startsWith('--'), `${file} has a shebang`).toBe(true)
      const header = text.split('\n').filter(line => line.startsWith('-- '))
      const keyShapes = header.flatMap(line => /^-- KEYS\[\d+\] +\w+ +(\S.*)$/.exec(line)?.[1] ?? [])
      const argLines = header.filter(line => /^-- ARGV\[\d+\] /.test(line))
      const listLines = header.filter(line => /^-- ARGV\[\d+(\.\.\] |\], ARGV.*pairs)/.test(line))
      expect([String(keyShapes.length), String(argLines.length)], file).toEqual([keyCount, argCount])
      expect(listLines.length, `${file} takes a list`).toBe(list === 'none' ? 0 : 1)
      if (listLines[0]) expect(listLines[0]).toMatch(new RegExp(`^-- ARGV\\[${Number(argCount) + 1}(\\.\\.)?\\]`))
      // The table of the script itself: key shapes in order, and as many numbered arguments.
      const own = protocol.split(`**${file}** `)[1]!.split('\n\n')[1]!
      const [keys, args] = own.split('\n').slice(2)
      expect(
        [...keys!.matchAll(/`([^`]+)`/g)].map(match => match[1]),
        file,
      ).toEqual(keyShapes)
      expect(args!.match(/[ ;] ?\d(\.\.)? /g)?.length, file).toBe(argLines.length + listLines.length)
      // And what the code really uses is no more than what is documented.
      const code = text.split('\n').filter(line => !line.startsWith('--'))
      const used = (name: string) =>
        Math.max(
          ...[...code.join('\n').matchAll(new RegExp(`${name}\\[(\\d+)\\]`, 'g'))].map(match => Number(match[1])),
        )
      expect(used('KEYS'), file).toBe(keyShapes.length)
      expect(used('ARGV'), file).toBeLessThanOrEqual(argLines.length + listLines.length)
    }
  })

  it('lists the keys of each script in the order in which the code sends them', async () => {
    const long = 'x'.repeat(10_000)
    const operations: Record<string, (queue: Queue, client: Redis) => Promise<unknown>> = {
      push: (queue, client) => queue.push(client, '<hub>', 1, 1, ['']),
      claim: (queue, client) => queue.claim(client, '<worker>', 1),
      reply: (queue, client) => queue.reply(client, '<hub>', [long]),
      beat: (queue, client) => queue.beat(client, '<worker>', 1, true),
      handback: (queue, client) => queue.handback(client, '<worker>', 'tail', [{ id: 'a' }]),
      leave: (queue, client) => queue.leave(client, '<worker>', ['a']),
      adopt: (queue, client) => queue.adopt(client, '<lost worker>', '<this worker>'),
      cancel: (queue, client) => queue.cancel(client, 'a', ''),
    }
    for (const [file, , argCount, list] of rowsOf(section('13. Scripts'))) {
      const { keys, args } = await sentBy(operations[unquoted(file!).replace('.lua', '')]!)
      const [shapes] = protocol.split(`**${file}** `)[1]!.split('\n\n')[1]!.split('\n').slice(2)
      expect(keys, file).toEqual([...shapes!.matchAll(/`([^`]+)`/g)].map(match => match[1]))
      const entries = list === 'none' ? 0 : list!.startsWith('pairs') ? 2 : 1
      expect(args.length, file).toBe(Number(argCount) + entries)
    }
  })

  it('shows requests that a worker reads, written as the code writes them', () => {
    const [text, ...more] = examples('request')
    expect(more).toEqual([])
    const request = decodeRequest(text!, undefined, 'pshub')
    expect(request).toMatchObject({ task: 'my_task:1.0', ttlMs: 5000, args: { x: 1 }, from: 'shop', text })
    const tail = requestTail(makeKeys('pshub').reply(request.hubId!), request.from, request.traceparent)
    const body = requestBody(request.id, request.task, JSON.stringify(request.args), tail)
    expect(stamped(String(request.atUs), request.ttlMs, body)).toBe(text)
  })

  it('shows replies that a caller reads, written as the code writes them', () => {
    const texts = examples('reply')
    expect(texts).toHaveLength(2)
    for (const text of texts) {
      const reply = decodeReply(text)!
      const written = reply.ok
        ? okReply(reply.id, JSON.stringify(reply.result), reply.worker!, reply.us!)
        : errorReply(reply.id, reply.error, reply.worker!, reply.us)
      expect(written).toBe(text)
    }
  })

  it('shows cards as workers publish them', () => {
    const card = JSON.parse(examples('task card')[0]!)
    const { task, queue, at, digest: _, ...options } = card
    const declared = cardOf(
      defineTask(task, { ...options }, () => null),
      queue,
      at,
    )
    expect(JSON.stringify(card)).toBe(JSON.stringify(declared))
    const worker = JSON.parse(examples('worker card')[0]!)
    expect(Object.keys(worker)).toEqual(['id', 'queue', 'host', 'pid', 'slots', 'tasks', 'client', 'started'])
    expect(worker.tasks).toEqual({ [task]: card.digest })
    const stats = JSON.parse(examples('stats')[0]!)
    expect(Object.keys(stats)).toEqual(['seen', 'busy', 'draining', 'counters'])
    expect(Object.keys(stats.counters)).toEqual(['ok', 'failed', 'expired', 'malformed'])
  })

  it('lists the golden files that there are', () => {
    const listed = rowsOf(section('16. Test vectors')).map(([file]) => unquoted(file!))
    expect(listed.sort()).toEqual(readdirSync(new URL('clients/vectors/', root)).sort())
  })
})

// biome-ignore lint/suspicious/noExplicitAny: golden files of known shapes
const vectors = (file: string): any => JSON.parse(read(`clients/vectors/${file}`))

describe('golden files', () => {
  it('names.json', () => {
    const { namespaces, queues, ids, declared, called, newestFirst: ordered } = vectors('names.json')
    const lists: [{ valid: string[]; invalid: string[] }, (text: string) => boolean][] = [
      [namespaces, isNamespace],
      [queues, isQueueName],
      [ids, isId],
    ]
    for (const [{ valid, invalid }, check] of lists) {
      expect(valid.filter(text => !check(text))).toEqual([])
      expect(invalid.filter(check)).toEqual([])
    }
    for (const { name, parsed } of declared) {
      if (parsed) expect(parseTaskName(name)).toEqual({ full: name, ...parsed })
      else expect(() => parseTaskName(name), name).toThrow('is not a task name')
      expect(tryParseTaskName(name), name).toEqual(parsed ? { full: name, ...parsed } : undefined)
    }
    for (const { name, parsed } of called) {
      const expected = parsed && {
        name: parsed.name,
        major: parsed.major ?? undefined,
        minor: parsed.minor ?? undefined,
      }
      expect(parseCalledName(name), name).toEqual(expected ?? undefined)
    }
    const shuffled = [...ordered].sort().map(parseTaskName)
    expect(shuffled.sort(newestFirst).map(({ full }) => full)).toEqual(ordered)
  })

  it('reply-lists.json', () => {
    const { namespace, cases } = vectors('reply-lists.json')
    for (const { result_queue, hubId } of cases) {
      expect(hubIdOf(result_queue, namespace) ?? null, JSON.stringify(result_queue)).toBe(hubId)
      if (hubId !== null) expect(makeKeys(namespace).reply(hubId)).toBe(result_queue)
    }
  })

  const requests = vectors('requests.json')
  for (const { title, text, heldId, request, malformed } of requests.cases) {
    it(`requests.json: ${title}`, () => {
      const decode = () => decodeRequest(text, heldId, requests.namespace)
      if (malformed !== undefined) {
        expect(decode).toThrow(MalformedMessage)
        expect(decode).toThrow(malformed)
        return
      }
      const absentAsNull = Object.entries(decode()).map(([key, value]) => [key, value === undefined ? null : value])
      expect(Object.fromEntries(absentAsNull)).toEqual({ ...request, text })
    })
  }

  it('replies.json', () => {
    for (const { title, text, reply } of vectors('replies.json').cases) {
      expect(decodeReply(text), title).toEqual(reply ?? undefined)
    }
  })

  it('errors.json', () => {
    const { table, cases } = vectors('errors.json')
    expect(table).toEqual(Object.entries(errorTable).map(([code, row]) => ({ code, ...row })))
    for (const { error, expected } of cases) {
      const { code, message, ran, retryable, status, data } = fromWire(error as WireError, {})
      expect({ code, message, ran, retryable, status, data: data ?? null }).toEqual(expected)
    }
  })

  const payloads = vectors('payloads.json')
  it('payloads.json: unchanged and rewritten', () => {
    for (const text of payloads.unchanged) expect(encodePayload(decodePayload(text))).toBe(text)
    for (const { text, to, why } of payloads.rewritten) expect(encodePayload(decodePayload(text)), why).toBe(to)
  })

  for (const { text, why } of payloads.refused) {
    it(`payloads.json: refused, ${why}`, () => {
      expect(() => decodePayload(text), text).toThrow(PayloadProblem)
    })
  }
})

/** JSON text with the escapes and spaces that other writers use. */
const respelled = (value: unknown, isEscaped: (char: string) => boolean): string => {
  const spell = (text: string) =>
    `"${[
      ...JSON.stringify(text)
        .slice(1, -1)
        .matchAll(/\\u....|\\.|./gs),
    ]
      .map(([char]) =>
        char.length === 1 && isEscaped(char) ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : char,
      )
      .join('')}"`
  if (typeof value === 'string') return spell(value)
  if (Array.isArray(value)) return `[ ${value.map(inner => respelled(inner, isEscaped)).join(' , ')}]`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value).map(([key, inner]) => ` ${spell(key)} : ${respelled(inner, isEscaped)}`)} }`
  }
  return JSON.stringify(value)
}

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const hasProto = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([key, inner]) => key === '__proto__' || hasProto(inner))

/** Any JSON value, as JSON.parse makes it: its keys may be the dangerous ones, its texts any code units. */
const anyText = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', '\ud800', '\udc00x', '\u2028', '"__proto__":', '\\', ''),
  fc.string({ unit: 'binary' }),
)
const { value: anyJson } = fc.letrec<{ value: unknown; leaf: unknown }>(tie => ({
  leaf: fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => (Object.is(number, -0) ? 0 : number)),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    anyText,
  ),
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(anyText, tie('value')), { maxLength: 4 }).map(entries => {
      const object = {}
      for (const [key, value] of entries) {
        Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
      }
      return object
    }),
  ),
}))

const attempt = <T>(work: () => T): { value: T } | { refused: PayloadProblem } => {
  try {
    return { value: work() }
  } catch (error) {
    if (error instanceof PayloadProblem) return { refused: error }
    throw error
  }
}

describe('any payload', () => {
  it('comes back equal, or is refused for its __proto__ key', () => {
    fc.assert(
      fc.property(anyJson, value => {
        const encoded = attempt(() => encodePayload(value))
        expect('refused' in encoded).toBe(hasProto(value))
        if ('refused' in encoded) {
          expect(encoded.refused.problem.message).toContain('__proto__')
          return
        }
        expect(encoded.value).toBe(JSON.stringify(value))
        expect(decodePayload(encoded.value)).toEqual(value)
      }),
      { numRuns: 500 },
    )
  })

  it('is judged the same however its texts are spelled', () => {
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 1, max: 5 }), (value, every) => {
        let count = 0
        const text = respelled(value, () => ++count % every === 0)
        const decoded = attempt(() => decodePayload(text))
        expect('refused' in decoded, text).toBe(hasProto(value))
        if ('value' in decoded) expect(decoded.value).toEqual(value)
      }),
      { numRuns: 500, examples: [[JSON.parse('{"__proto__":1}'), 3]] },
    )
  })

  it('is refused from 65 levels on, wherever they are and whatever else has brackets', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: maxDepth - 3, max: maxDepth + 3 })),
        fc.array(fc.boolean(), { minLength: 200, maxLength: 200 }),
        anyJson.filter(value => !hasProto(value)),
        fc.array(fc.constantFrom('[', ']', '{', '}', '"', '\\'), { maxLength: 200 }),
        (levels, asArray, inner, noise) => {
          let value = inner
          for (let level = 0; level < levels; level++)
            value = asArray[level] ? [value] : { [noise.join('')]: value, [`${level}`]: noise.join('') }
          const depth = depthOf(value)
          expect('refused' in attempt(() => encodePayload(value)), `${depth} levels`).toBe(depth > maxDepth)
          // A message may be one deeper: its arguments lie in it.
          const text = JSON.stringify(value)
          expect('refused' in attempt(() => decodePayload(text)), `${depth} levels`).toBe(depth > maxDepth + 1)
        },
      ),
    )
  })

  it('loses the sign of zero and nothing else', () => {
    expect(encodePayload([-0])).toBe('[0]')
    expect(Object.is((decodePayload('[-0]') as number[])[0], -0)).toBe(true)
  })

  it('is refused when it is not JSON at all', () => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    const values = [undefined, () => 1, Symbol('s'), 1n, { a: [1n] }, cycle]
    for (const value of values) expect(() => encodePayload(value)).toThrow(PayloadProblem)
    let deep: unknown = 1
    for (let level = 0; level < 50_000; level++) deep = [deep]
    expect(() => encodePayload(deep)).toThrow(PayloadProblem)
  })

  it('text of any kind is decoded as JSON.parse does, or refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), text => {
        const decoded = attempt(() => decodePayload(text))
        if ('value' in decoded) expect(decoded.value).toEqual(JSON.parse(text))
      }),
    )
  })
})

describe('any result_queue', () => {
  const namespace = 'pshub'
  const pattern = /^pshub:reply:\{([A-Za-z0-9_-]{1,64})\}$(?!\n)/

  it('is taken for a reply list only when it is exactly one', () => {
    const pieces = fc.constantFrom('pshub', ':', 'reply', '{', '}', 'a', '\n', '\u0000', ' ', '*', 'pshub:reply:{', 'é')
    const composed = fc.array(pieces, { maxLength: 8 }).map(parts => parts.join(''))
    const end = fc.constantFrom('}', '', '}}', '} ', ')')
    const wrapped = fc.tuple(fc.oneof(composed, fc.string()), end).map(([id, last]) => `pshub:reply:{${id}${last}`)
    const real = fc
      .tuple(fc.stringMatching(/^[A-Za-z0-9_-]{1,70}$/), end)
      .map(([id, last]) => `pshub:reply:{${id}${last}`)
    fc.assert(
      fc.property(fc.oneof(composed, wrapped, real, fc.string(), fc.jsonValue()), value => {
        const expected = typeof value === 'string' ? pattern.exec(value)?.[1] : undefined
        expect(hubIdOf(value, namespace)).toBe(expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('never leads a worker to another key than the one it names', () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,31}$/), (id, space) => {
        const named = `${space}:reply:{${id}}`
        const hubId = hubIdOf(named, space)
        if (hubId !== undefined) expect(makeKeys(space).reply(hubId)).toBe(named)
      }),
    )
  })
})

describe('any list element', () => {
  it('is read or dropped, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.json()),
        fc.option(fc.constant('hand-1-1'), { nil: undefined }),
        (text, heldId) => {
          try {
            const request = decodeRequest(text, heldId, 'pshub')
            expect(isId(request.id)).toBe(true)
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedMessage)
          }
          const reply = decodeReply(text)
          expect(reply === undefined || typeof reply.id === 'string').toBe(true)
        },
      ),
    )
  })

  it('is what the caller meant, once the script has stamped it', () => {
    fc.assert(
      fc.property(
        anyJson.filter(value => !hasProto(value)),
        fc.integer({ min: 1, max: 2 ** 31 }),
        anyText,
        (args, ttl, from) => {
          const id = newId()
          const tail = requestTail(makeKeys('pshub').reply('h'), from, undefined)
          const text = stamped('1795220163659000', ttl, requestBody(id, 't:1.0', encodePayload(args), tail))
          const request = decodeRequest(text, undefined, 'pshub')
          expect(request).toMatchObject({ id, atUs: 1795220163659000, ttlMs: ttl, task: 't:1.0', hubId: 'h', text })
          expect(request.args).toEqual(args)
          // What scripts see: the three leading fields, in order, and nothing before them.
          expect(/^\{"at":(\d+),"ttl":(\d+),"id":"([\w-]+)"/.exec(text)?.slice(1)).toEqual([
            '1795220163659000',
            `${ttl}`,
            id,
          ])
        },
      ),
    )
  })
})
