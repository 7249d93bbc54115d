import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { parseCommandLine, settingsOf } from '../../src/cli/arguments.ts'
import type { Command } from '../../src/cli/command.ts'
import { formatDuration, parseDuration } from '../../src/cli/duration.ts'
import { exitCodeOf } from '../../src/cli/exit-codes.ts'
import { printable, printableJson } from '../../src/cli/printable.ts'
import { writeTable } from '../../src/cli/table.ts'
import { ConfigError, type ErrorCode, errorTable, HubError } from '../../src/wire/errors.ts'
import { linesOf } from '../support/lines-of.ts'

const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['1.5s', 1500],
    ['1m', 60_000],
    ['1d', 86_400_000],
    ['250', 250_000],
    [' 3s ', 3000],
  ])('%s is %d ms', (text, ms) => expect(parseDuration(text, '--x')).toBe(ms))

  it.each(['', 's', '-1s', '1w', '1 s', '1e3', 'Infinity', '2s3', '0x10'])('%j is none', text => {
    expect(() => parseDuration(text, '--grace')).toThrow(/^--grace must be a duration like/)
    expect(() => parseDuration(text, '--grace')).toThrow(ConfigError)
  })

  it.each([
    [0, '0ms'],
    [999.4, '999ms'],
    [1449, '1.4s'],
    [59_999, '1m'],
    [125_000, '2m 5s'],
    [187_200_000, '2d 4h'],
    [Number.NaN, '?'],
  ])('%d ms reads %s', (ms, text) => expect(formatDuration(ms)).toBe(text))
})

describe('what is shown', () => {
  it('is one line without anything a terminal would obey', () => {
    expect(printable('a\tb\r\nc')).toBe('a b c')
    expect(printable('\u001b[2Jhi\u009b31m\u202e\u0007\ud800')).toBe('\\u001b[2Jhi\\u009b31m\\u202e\\u0007\\ud800')
    expect(printable({ host: '\u001b' })).toBe('{"host":"\\u001b"}')
    expect(printable(undefined)).toBe('')
    expect(printable('Zürich 東京 🦊')).toBe('Zürich 東京 🦊')
  })

  it('holds for any text, and JSON keeps its meaning', () => {
    const text = fc.string({ unit: 'binary' })
    fc.assert(fc.property(text, value => !unsafe.test(printable(value))))
    const value = fc.jsonValue({ stringUnit: 'binary' })
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2), (json, indent) => {
        const shown = printableJson(json, indent)
        expect(unsafe.test(shown.replaceAll('\n', ''))).toBe(false)
        expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(json)))
      }),
    )
    expect(JSON.parse(printableJson('\u{e0041}'))).toBe('\u{e0041}')
  })
})

describe('a table', () => {
  const columns = [
    { title: 'NAME', value: (row: [string, number, string]) => row[0] },
    { title: 'N', value: (row: [string, number, string]) => row[1], right: true },
    { title: 'ABOUT', value: (row: [string, number, string]) => row[2] },
  ]
  const rows: [string, number, string][] = [
    ['a', 7, 'short'],
    ['bbb\u001b', 1234, 'x'.repeat(200)],
  ]

  it('aligns texts left and numbers right, and cuts nothing in a pipe', () => {
    expect(linesOf(undefined, sink => writeTable(sink, columns, rows))).toEqual([
      'NAME          N  ABOUT',
      'a             7  short',
      `bbb\\u001b  1234  ${'x'.repeat(200)}`,
    ])
  })

  it('keeps a spoilt name from pushing the rest out of sight', () => {
    const [, line] = linesOf(undefined, sink => writeTable(sink, columns, [['n'.repeat(10_000), 1, 'about']]))
    expect(line!.length).toBeLessThan(140)
  })
})

describe('exit codes', () => {
  const expected: Record<ErrorCode, number> = {
    TaskFailed: 1,
    InvalidResult: 1,
    NoSuchTask: 3,
    NoWorkers: 3,
    Overloaded: 3,
    NotEnqueued: 3,
    Expired: 3,
    InvalidArgs: 3,
    PayloadTooLarge: 3,
    HubClosed: 3,
    Timeout: 4,
    WorkerLost: 4,
    OutcomeUnknown: 4,
    NoSuchJob: 4,
    Aborted: 4,
  }

  it('say for every code of the table whether the task was run', () => {
    for (const code of Object.keys(errorTable) as ErrorCode[])
      expect(exitCodeOf(new HubError(code)), code).toBe(expected[code])
    expect(exitCodeOf(new ConfigError('x'))).toBe(2)
    expect(exitCodeOf(new Error('x'))).toBe(1)
    expect(exitCodeOf('thrown')).toBe(1)
  })
})

const command: Command = {
  name: 'try',
  usage: 'try <thing>',
  summary: '',
  about: [],
  arity: { min: 1, max: 1, missing: 'a thing' },
  options: [
    { flag: 'slots', value: 'n', about: '', setting: 'slots' },
    { flag: 'grace', value: 'time', about: '', setting: 'graceMs', isDuration: true },
    { flag: 'log-level', value: 'level', about: '', setting: 'logLevel' },
    { flag: 'json', about: '' },
  ],
  examples: [],
  run: async () => 0,
}

describe('a command line', () => {
  it('gives options by name and arguments in order', () => {
    const { flags, positionals } = parseCommandLine(command, ['--slots', '3', '-', '--json', '--grace=-1'])
    expect({ flags, positionals }).toEqual({ flags: { slots: '3', json: 'true', grace: '-1' }, positionals: ['-'] })
    expect(parseCommandLine(command, ['--', '--json']).positionals).toEqual(['--json'])
    expect(parseCommandLine(command, ['-h']).flags).toEqual({ help: 'true' })
  })

  it('takes a value behind = where one may be given, many where a list may be, and ids that begin with a dash', () => {
    const taking: Command = {
      ...command,
      arity: { min: 0, max: 1 },
      takesIds: true,
      options: [
        { flag: 'unique', value: 'id', isOptional: true, about: '' },
        { flag: 'id', value: 'id', isList: true, about: '' },
        { flag: 'exactly-twenty-two-cs', about: '' },
      ],
    }
    const parse = (...argv: string[]) => parseCommandLine(taking, argv)
    expect(parse('--unique', 'x')).toEqual({ flags: { unique: '' }, positionals: ['x'] })
    expect(parse('--unique=x').flags).toEqual({ unique: 'x' })
    expect(() => parse('--unique=')).toThrow('--unique needs a value')
    const id = '-id_of_22_characters--'
    expect(parse('--id', 'a,b', '--id', id, '--id=c', id)).toEqual({ flags: { id: `a,b,${id},c` }, positionals: [id] })
    expect(parse('--unique', id)).toEqual({ flags: { unique: '' }, positionals: [id] })
    expect(parse(`${id}-12`)).toEqual({ flags: {}, positionals: [`${id}-12`] })
    expect(() => parse(id.slice(1, 21), '--exactly-twenty-two-x')).toThrow('one too many')
    expect(() => parseCommandLine(command, [id])).toThrow('no option -i.')
  })

  it.each([
    [['x', '--slot', '3'], /no option --slot\. Did you mean --slots\?/],
    [['x', '-q'], /no option -q\.$/],
    [['-5'], /no option -5\. .*after --\.$/],
    [['x', '--slots'], /^--slots needs a value: --slots <n>\.$/],
    [['x', '--slots', '--json'], /^--slots needs a value/],
    [['x', '--slots='], /^--slots needs a value/],
    [['x', '--json=1'], /^--json takes no value/],
    [[], /^pshub try needs a thing\.$/],
    [['x', 'y'], /takes at most 1 argument; 'y' is one too many/],
  ])('%j is refused', (argv, message) => expect(() => parseCommandLine(command, argv)).toThrow(message))
})

describe('settings of a command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-cli-'))
  const file = join(folder, 'settings.json')
  afterAll(() => rmSync(folder, { recursive: true }))
  let env: Record<string, string> = {}
  const { stdin, stdout, stderr } = process
  const read = (flags: Record<string, string>) =>
    settingsOf('worker', command, { flags, host: { env, cwd: folder, stdin, stdout, stderr } }, 'info')
  afterEach(() => {
    env = {}
    rmSync(file, { force: true })
  })

  it('come from flag, environment, file and default, in that order', () => {
    expect(read({}).slots).toBe(4)
    writeFileSync(file, '{"slots": 5}')
    expect(read({ config: 'settings.json' }).slots).toBe(5)
    env = { PSHUB_SLOTS: '6' }
    expect(read({ config: file }).slots).toBe(6)
    expect(read({ config: file, slots: '7' }).slots).toBe(7)
  })

  it('take durations, and name the flag when one is out of bounds', () => {
    expect(read({ grace: '1.5s' }).graceMs).toBe(1500)
    expect(() => read({ grace: '2h' })).toThrow(/^--grace must be a whole number from 0 to 3600000 milliseconds/)
    expect(() => read({ slots: 'many' })).toThrow('--slots must be a whole number from 1 to 256; it is "many".')
  })
})
