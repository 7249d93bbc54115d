import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  javascriptLiteral,
  jsonLiteral,
  pythonLiteral,
  rubyLiteral,
  shellWord,
} from '../../registry/web/json/literals.ts'
import {
  cliSnippet,
  curlSnippet,
  pythonSnippet,
  rubySnippet,
  typescriptSnippet,
} from '../../registry/web/try-it/snippets/texts.ts'
import { parseCommandLine } from '../../src/cli/arguments.ts'
import { callCommand } from '../../src/cli/call.ts'
import { anyJson, hasProto } from '../support/any-json.ts'

const hostile = [
  "it's",
  "'; rm -rf ~ #",
  '$(touch /tmp/x)',
  '`id`',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a shell would fill in
  '${HOME}',
  '$HOME',
  '\\',
  "\\'",
  '"',
  '\\"',
  '"""',
  "'''",
  'a\nb',
  '\r\n',
  '\t',
  '#{1+1}',
  '#$0',
  '#@x',
  '%s',
  '!!',
  '!x',
  '\u0000',
  '\u001b[31m',
  '\u2028\u2029',
  '\u202egnp.exe',
  '😀',
  'é',
  '',
  ' ',
  '-x',
  '--',
  '@file',
  '\u007f\u0085',
  '</script>',
  '{{x}}',
  '\\u0041',
  '\\n',
  '*',
  '~',
  '\ufeffx',
  'x'.repeat(500),
]
const value = {
  texts: hostile,
  keys: Object.fromEntries(hostile.map(text => [text, 1])),
  rest: [null, true, false, -0.5, 1e21, 9007199254740991, [], {}, [[]]],
}

/** Halves of characters are no text for other languages. */
const isWellFormed = (json: unknown) => !/\\ud[89a-f]/i.test(JSON.stringify(json))
const manyValues = fc.sample(
  anyJson.filter(json => !hasProto(json) && isWellFormed(json)),
  { numRuns: 200, seed: 7 },
)
const values = [value, ...manyValues, ...hostile]

const run = (program: string, args: string[], input: string): string =>
  execFileSync(program, args, { input, encoding: 'utf8', maxBuffer: 64e6 })

const has = (program: string): boolean => {
  try {
    run(program, ['--version'], '')
    return true
  } catch {
    return false
  }
}

const missing = (program: string) => !has(program)

describe('literals', () => {
  it('hide nothing', () => {
    const hidden = (char: string) => char !== '\n' && /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufeff]/u.test(char)
    for (const text of [jsonLiteral(value), javascriptLiteral(value), pythonLiteral(value), rubyLiteral(value)])
      expect([...text].filter(hidden)).toEqual([])
  })

  it('come back out of JavaScript', () => {
    const program = `console.log(JSON.stringify([${values.map(javascriptLiteral).join(',\n')}]))`
    expect(JSON.parse(run(process.execPath, ['--input-type=module', '-'], program))).toEqual(values)
  })

  it.skipIf(missing('python3'))('come back out of Python', () => {
    const program = `import json\nprint(json.dumps([${values.map(pythonLiteral).join(',\n')}]))`
    expect(JSON.parse(run('python3', ['-'], program))).toEqual(values)
  })

  it.skipIf(missing('ruby'))('come back out of Ruby', () => {
    const program = `# encoding: utf-8\nrequire 'json'\nputs JSON.generate([${values.map(rubyLiteral).join(',\n')}])`
    expect(JSON.parse(run('ruby', ['-'], program))).toEqual(values)
  })

  it('come back out of a shell', () => {
    const words = values.map(json => jsonLiteral(json))
    const out = run('bash', ['-s'], `printf '%s\\0' ${words.map(shellWord).join(' ')}`)
    expect(out.split('\0').slice(0, -1)).toEqual(words)
    const texts = hostile.filter(text => !text.includes('\0'))
    const back = run('bash', ['-s'], `printf '%s\\0' ${texts.map(shellWord).join(' ')}`)
    expect(back.split('\0').slice(0, -1)).toEqual(texts)
  })
})

const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const call = (args: unknown) => ({
  task: 'a/b:1.0',
  args,
  timeoutMs: 2500,
  queue: 'images',
  traceparent: trace,
  tracestate: "it's=1",
  namespace: "it's",
  url: 'http://h/api/call/a%2Fb%3A1.0?',
})

const others = { queue: 'images', traceparent: trace, tracestate: "it's=1" }

describe('snippets', () => {
  let words: (line: string, program: string) => string[]
  beforeAll(() => {
    words = (line, program) =>
      run('bash', ['-s'], `${program}() { printf '%s\\0' "$@"; }\nPSHUB_TOKEN=secret\n${line}`).split('\0').slice(0, -1)
  })

  it.each([value, -1, 'x', null])('of curl send the arguments', args => {
    const given = words(curlSnippet(call(args)), 'curl')
    expect(given).toContain('http://h/api/call/a%2Fb%3A1.0?')
    expect(given).toContain('authorization: Bearer secret')
    expect(given).toEqual(
      expect.arrayContaining([
        'pshub-timeout-ms: 2500',
        'pshub-queue: images',
        `traceparent: ${trace}`,
        "tracestate: it's=1",
      ]),
    )
    expect(JSON.parse(given[given.indexOf('--data-raw') + 1]!)).toEqual(args)
  })

  it.each([value, -1, 'x', null, '-x'])('of the command line are understood by it', args => {
    const [command, ...given] = words(cliSnippet(call(args)), 'pshub')
    expect(command).toBe('call')
    const { positionals, flags } = parseCommandLine(callCommand, given)
    expect(positionals[0]).toBe('a/b:1.0')
    expect(JSON.parse(positionals[1]!)).toEqual(args)
    expect(flags).toMatchObject({ timeout: '2500ms', queue: 'images', namespace: "it's" })
    // PSHUB_REDIS says where, which the browser cannot know.
    expect(flags.redis).toBeUndefined()
  })

  /** The library is played by a few lines that print what they are given. */
  it('of TypeScript give the arguments to the hub', () => {
    const program = typescriptSnippet(call(value)).replace(
      'import { Hub } from "pshub"',
      'class Hub { constructor(o) { this.o = o }; close() {}; async call(...given) { return JSON.stringify([this.o, ...given]) } }',
    )
    const [options, task, args, rest] = JSON.parse(run(process.execPath, ['--input-type=module', '-'], program))
    expect(options).toMatchObject({ namespace: "it's" })
    expect([task, args, rest]).toEqual(['a/b:1.0', value, { timeoutMs: 2500, ...others }])
  })

  it.skipIf(missing('python3'))('of Python give the arguments to the hub', () => {
    const stand = [
      'import json',
      'class Hub:',
      '    def __init__(self, **options): self.options = options',
      '    def __enter__(self): return self',
      '    def __exit__(self, *error): pass',
      '    def call(self, task, args, **options): return json.dumps([self.options, task, args, options])',
    ].join('\n')
    const program = pythonSnippet(call(value)).replace('from pshub import Hub', stand)
    expect(JSON.parse(run('python3', ['-'], program))).toEqual([
      { namespace: "it's" },
      'a/b:1.0',
      value,
      { timeout: 2.5, ...others },
    ])
  })

  it.skipIf(missing('ruby'))('of Ruby give the arguments to the hub', () => {
    const stand = [
      '# encoding: utf-8',
      'require "json"',
      'module Pshub; class Hub',
      '  def initialize(**options) = @options = options',
      '  def call(task, args, **options) = (puts JSON.generate([@options, task, args, options]))',
      '  def close = nil',
      'end; end',
    ].join('\n')
    const program = rubySnippet(call(value)).replace('require "pshub"', stand).replace('p result', '')
    expect(JSON.parse(run('ruby', ['-'], program))).toEqual([
      { namespace: "it's" },
      'a/b:1.0',
      value,
      { timeout: 2.5, ...others },
    ])
  })
})
