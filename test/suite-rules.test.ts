import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { blanked, offencesIn, rules } from './support/suite-rules.ts'

/** Programs whose subject is real time in real processes. */
const isOfRealTime = /^(?:fault|conformance|soak)\/|^support\/delay\.ts$/
/** Have offences in snippets. */
const isAboutRules = /suite-rules/

/** Offences that stay, each with its reason. `text` is a part of the line. */
const allowed: { file: string; text: string; reason: string }[] = [
  {
    file: 'unit/parts.test.ts',
    text: 'sleep(60_000, controller.signal)',
    reason: "pshub's own sleep, with fake timers",
  },
  { file: 'support/hub-fixture.ts', text: 'setTimeout(resolve, 5)', reason: 'eventually() polls' },
  {
    file: 'support/example-promises.ts',
    text: 'await freePort()',
    reason: 'the web frameworks each tell their port in another way',
  },
  {
    file: 'packages/tutorial.long.test.ts',
    text: 'await freePort()',
    reason: 'the commands of the page name their ports',
  },
  {
    file: 'redis/health.test.ts',
    text: 'await freePort()',
    reason: 'a worker takes a port only by number; another one is taken where it is in use',
  },
  { file: 'unit/measures.test.ts', text: 'expect(ms).toBeLessThanOrEqual(60_000)', reason: 'the test gives the times' },
]

/** Programs of other processes cannot import delay.ts: Node 20 does not load TypeScript. */
const mayWait = (file: string) => file.endsWith('.mjs')

const filesOfTests = () =>
  readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(?:ts|tsx|mjs)$/.test(name) && !/(?:^|\/)(?:node_modules|artifacts)\//.test(name))
    .filter(name => !isOfRealTime.test(name) && !isAboutRules.test(name))

describe('the suite', () => {
  it('has no test that can fail by chance', () => {
    const files = filesOfTests()
    expect(files.length).toBeGreaterThan(300)
    const texts = [...files, '../vitest.config.ts'].map(file => ({
      file,
      text: readFileSync(join(import.meta.dirname, file), 'utf8'),
    }))
    const used = new Set<object>()
    const offences = texts.flatMap(({ file, text }) =>
      offencesIn(text).flatMap(offence => {
        if (offence.rule === 'fixed wait' && mayWait(file)) return []
        const exception = allowed.find(each => each.file === file && offence.text.includes(each.text))
        if (exception) used.add(exception)
        return exception ? [] : [`test/${file}:${offence.line}: ${offence.rule}: ${offence.text}`]
      }),
    )
    const remedies = rules.map(({ name, remedy }) => `${name}: ${remedy}`).join('\n')
    expect(offences, remedies).toEqual([])
    expect(
      allowed.filter(each => !used.has(each)),
      'exceptions that nothing needs any more',
    ).toEqual([])
  })
})

const rulesBrokenBy = (text: string) => offencesIn(text).map(({ rule }) => rule)

describe('a rule of the suite', () => {
  it.each([
    ['fixed wait', 'await new Promise(resolve => setTimeout(resolve, 500))'],
    ['fixed wait', 'await new Promise<void>(enough => setTimeout(enough, 500))'],
    ['fixed wait', 'await new Promise((resolve, reject) => {\n  setTimeout(() => resolve(1), 500)\n})'],
    ['fixed wait', "const slow = defineTask('slow:1.0', {}, async () => { await sleep(300) })"],
    ['fixed wait', "import { setTimeout as wait } from 'node:timers/promises'"],
    ['fixed wait', 'await page.waitForTimeout(100)'],
    ['upper bound on elapsed time', 'expect(performance.now() - startedAt).toBeLessThan(500)'],
    ['upper bound on elapsed time', 'expect(Math.abs(Date.now() - at!)).toBeLessThanOrEqual(5000)'],
    ['upper bound on elapsed time', 'const gone = Date.now() - from\nexpect(gone, `late`).toBeLessThan(1000)'],
    ['upper bound on elapsed time', 'expect(answer.ms).toBeLessThan(1500)'],
    ['upper bound on elapsed time', 'expect(Math.max(...all.map(({ tookMs }) => tookMs))).toBeLessThan(1500)'],
    ['upper bound on elapsed time', 'expect(performance.now() - from < 900).toBe(true)'],
    ['single look at a page', "expect(new URL(page.url()).search).toBe('?q=a')"],
    ['single look at a page', "expect(await page.getByRole('row').count()).toBe(2)"],
    ['single look at a page', "expect([await value(page, 'note'), 1]).toEqual(['Ada', 1])"],
    ['free port that is bound later', 'const port = await freePort()'],
    ['retry', "it('works', { retry: 2 }, () => {})"],
    ['test that is left out', "describe.only('this', () => {})"],
    ['test that is left out', "it.skip('works', () => {})"],
    ['test that is left out', "it.todo('works')"],
    ['SCAN taken for a list', "for await (const some of redis.scanStream({ match: 'a*' })) keys.push(...some)"],
    [
      'SCAN taken for a list',
      "do {\n  const [next, some] = await redis.scan(cursor)\n  cursor = next\n  keys.push(...some)\n} while (cursor !== '0')",
    ],
  ])('finds a %s: %s', (rule, text) => expect(rulesBrokenBy(`const a = 1\n${text}\n`)).toEqual([rule]))

  it.each([
    ['a guard that only ends what hangs', 'const guard = setTimeout(() => child.kill(), 30_000)'],
    ['a wait that says why', "await delay(50, 'the lease of a process that stands still must end')"],
    ['a comment', '// await sleep(300) was too short\nconst a = 1 /* freePort() */'],
    [
      'code for another process',
      'cli.module(`export const slow = () => new Promise(resolve => setTimeout(resolve, 50))`)',
    ],
    ['a lower bound', 'expect(performance.now() - startedAt).toBeGreaterThanOrEqual(500)'],
    ['an order of times', 'expect(before.atMs).toBeLessThanOrEqual(Date.now())'],
    ['a bound of something else', 'expect(chunks.length).toBeLessThan(20)\nexpect(ttlMs).toBeLessThanOrEqual(10_000)'],
    [
      'keys in a set',
      'const keys = new Set()\nfor await (const some of redis.scanStream()) for (const key of some) keys.add(key)',
    ],
    ['retries of the product', "defineTask('a:1.0', { retries: 2 }, () => 1)"],
    ['what is left of a time', 'expect(expiresMs! - Date.now()).toBeLessThanOrEqual(9000)'],
    ['a timer that is cleared', 'const timer = setTimeout(resolve, 2000)'],
    ['a turn of the event loop', "import { setImmediate as turn } from 'node:timers/promises'"],
  ])('lets pass %s', (_, text) => expect(rulesBrokenBy(text)).toEqual([]))

  it('reads code only, and keeps what runs within a text', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code that is read
    const text = "const a = /['\"`]/.test(b) // 'c\nd(`e ${f('g')} h${`i ${j}`}`, 4 / 2, 'k\\'l') / 3"
    expect(blanked(text).replace(/\s+/g, ' ')).toBe('const a = .test(b) d( f( ) j , 4 / 2, ) / 3')
    expect(blanked(text)).toHaveLength(text.length)
  })
})
