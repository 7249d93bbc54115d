// What is called comes back as it was sent, under the version that was meant.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { generatedValues, saysTheSame } from '../../support/generated-values.mjs'
import { eventually } from '../pair.mjs'

const values = [
  ['nothing', null],
  ['empty array', []],
  ['empty object', {}],
  ['empty ones inside', { a: [], b: {}, c: [[], {}], d: '' }],
  ['texts', ['', ' ', '"\\/', '\u0000\n\t', 'Zoë 💚 \u2028', 'ﷺ', '𝒳']],
  ['numbers', [0, -1, 1.5, -1.5e-7, 1e21, 9007199254740991, -9007199254740991]],
  ['truth', [true, false]],
  ['odd keys', { '': 1, 'a b': 2, 'é💚': 3, constructor: 4, toString: 5, 0: 6 }],
  ['deep', JSON.parse('['.repeat(64) + ']'.repeat(64))],
]

const maxBytes = 1_048_576

export const valueChecks = [
  ...values.map(([name, value]) => ({
    name: `value: ${name}`,
    run: async pair => {
      const { ok: isOk, result, error } = await pair.call('echo:1.0', value)
      ok(isOk, JSON.stringify(error))
      deepEqual(result, value)
    },
  })),
  {
    name: 'value: half a surrogate pair',
    run: async pair => {
      // A language that cannot hold it refuses the value (PROTOCOL.md, section 4).
      const { ok: isOk, result, error } = await pair.callText('echo:1.0', '"\\ud800"')
      if (isOk) equal(JSON.parse(result), '\ud800')
      else ok(['InvalidArgs', 'InvalidResult', 'Timeout'].includes(error.code), error.code)
    },
  },
  {
    name: 'value: integers beyond 2^53',
    run: async pair => {
      const { ok: isOk, result } = await pair.callText('echo:1.0', '[9007199254740993,-123456789012345678901234567890]')
      ok(isOk)
      if (pair.exactIntegers) equal(result.replaceAll(' ', ''), '[9007199254740993,-123456789012345678901234567890]')
      else {
        const [near, far] = JSON.parse(result)
        ok(Math.abs(near - 2 ** 53) <= 2 && Math.abs(far / -1.2345678901234568e29 - 1) < 1e-9, result)
      }
    },
  },
  {
    name: 'value: generated ones come back equal, or are refused',
    run: async pair => {
      const seed = pair.languages.caller.name.length * 100 + pair.languages.worker.name.length
      const values = generatedValues(seed, pair.stage.generatedValues)
      for (let from = 0; from < values.length; from += 200) {
        const some = values.slice(from, from + 200)
        const args = some.map(({ text }) => text)
        const { outcomes } = await pair.caller.order('batch', { task: 'echo:1.0', args, timeout_ms: 60_000 }).answer
        for (const [at, { ok: isOk, result, error }] of outcomes.entries()) {
          const { text, mayBeRefused } = some[at]
          if (isOk) ok(saysTheSame(text, result), `${text} came back as ${result}`)
          else
            ok(
              mayBeRefused && ['InvalidArgs', 'InvalidResult'].includes(error.code),
              `${text}: ${JSON.stringify(error)}`,
            )
        }
      }
    },
  },
  {
    name: 'value: 65 levels are refused',
    run: async pair => {
      const { error } = await pair.callText('echo:1.0', '['.repeat(65) + ']'.repeat(65))
      equal(error?.code, 'InvalidArgs')
    },
  },
  {
    name: 'value: a key __proto__ is refused',
    run: async pair => {
      const { error } = await pair.callText('echo:1.0', '{"a":{"__proto__":1}}')
      equal(error?.code, 'InvalidArgs')
    },
  },
  {
    name: 'arguments of 1 MiB, and one byte more',
    run: async pair => {
      const fits = 'x'.repeat(maxBytes - 2)
      const { result } = await pair.call('echo:1.0', fits)
      ok(result === fits, 'not the same text')
      const { error } = await pair.call('echo:1.0', `${fits}x`)
      equal(error?.code, 'PayloadTooLarge')
      // Bytes count, not letters.
      const tooLarge = await pair.call('echo:1.0', 'é'.repeat(maxBytes / 2))
      equal(tooLarge.error?.code, 'PayloadTooLarge')
    },
  },
  {
    name: 'result of 1 MiB, and one byte more',
    run: async pair => {
      const { result } = await pair.call('big:1.0', { length: maxBytes - 2 })
      equal(result?.length, maxBytes - 2)
      const { error } = await pair.call('big:1.0', { length: maxBytes - 1 })
      equal(error?.code, 'InvalidResult')
    },
  },
  {
    name: 'a batch of 300 calls',
    run: async pair => {
      const list = Array.from({ length: 300 }, (_, x) => ({ x, y: 1000 }))
      const outcomes = await pair.batch('add:1.0', list, { timeout_ms: 60_000 })
      deepEqual(
        outcomes.map(({ result, error }) => result ?? error.code),
        list.map(({ x, y }) => x + y),
      )
    },
  },
  {
    name: 'never runs more than its slots, nor holds more than three times as many',
    run: async pair => {
      const list = Array.from({ length: 40 }, () => ({ ms: 50 }))
      let isOver = false
      let most = 0
      const begunAt = performance.now()
      const outcomes = pair.batch('slow:1.0', list, { timeout_ms: 60_000 }).finally(() => {
        isOver = true
      })
      while (!isOver) most = Math.max(most, await pair.held())
      const tookMs = performance.now() - begunAt
      ok((await outcomes).every(outcome => outcome.ok))
      // Ten rounds of four; more at once would be through sooner.
      ok(tookMs > 490, `all ended within ${Math.round(tookMs)} ms`)
      // What runs, what is answered, and what is being released.
      ok(most > 0 && most <= 3 * 4, `${most} were held`)
    },
  },
  {
    name: 'versions',
    run: async pair => {
      const results = []
      for (const name of ['add:1.0', 'add:1.1', 'add:1', 'add']) {
        const { result } = await pair.call(name, { x: 1, y: 1 })
        results.push(result)
      }
      deepEqual(results, [2, 3, 3, 3])
    },
  },
  {
    name: 'nested calls inherit deadline and trace',
    run: async pair => {
      const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
      const options = { timeout_ms: 30_000, traceparent: `00-${trace}-00f067aa0ba902b7-01` }
      const call = pair.call('nested:1.0', { depth: 2, ms: 500 }, options)
      const texts = await eventually(async () => {
        const held = await pair.heldTexts()
        return held.length === 3 && held
      }, 'three calls within each other')
      for (const text of texts) ok(JSON.parse(text).traceparent?.split('-')[1] === trace, text)
      const { result, error } = await call
      ok(result, JSON.stringify(error))
      ok(result.left_ms > 0 && result.left_ms < 29_500, `${result.left_ms} ms were left`)
    },
  },
  {
    name: 'nothing is held afterwards',
    run: async pair => {
      await eventually(async () => (await pair.held()) === 0 && (await pair.waiting()) === 0, 'the end of what is held')
    },
  },
]
