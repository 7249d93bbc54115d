import { describe, expect, it } from 'vitest'
import { makePaint } from '../../src/outlets/colour.ts'
import { prettyLine } from '../../src/outlets/pretty.ts'

const plain = makePaint(false, {})
const time = new Date(2026, 0, 2, 3, 4, 5, 67).getTime()
const lineOf = (fields: object, paint = plain) =>
  prettyLine(`${JSON.stringify({ level: 40, time, pid: 7, ...fields })}\n`, paint)

describe('a line of the log for people', () => {
  it('has time, level, message and fields in one line, without the process', () => {
    const fields = {
      task: 'add:1.0',
      ms: 1.5,
      ok: false,
      us: { exec: 3 },
      tasks: ['a', 'b'],
      none: null,
      msg: 'call settled',
    }
    expect(lineOf(fields)).toBe(
      '[03:04:05.067] WARN: call settled task=add:1.0 ms=1.5 ok=false us={"exec":3} tasks=["a","b"] none=null\n',
    )
  })

  it.each([
    ['two words', '"two words"'],
    ['', '""'],
    ['a=b', '"a=b"'],
    ['say "x"', '"say \\"x\\""'],
  ])('shows where a text like %j ends', (reason, shown) => {
    expect(lineOf({ reason, msg: 'm' })).toBe(`[03:04:05.067] WARN: m reason=${shown}\n`)
  })

  it('has the stack on lines of its own, also that of an error and a list of frames', () => {
    const stack = 'Error: no\n    at f (a.mjs:1:2)'
    const shown = '\n    Error: no\n        at f (a.mjs:1:2)\n'
    expect(lineOf({ stack, n: 1, msg: 'm' })).toBe(`[03:04:05.067] WARN: m n=1${shown}`)
    expect(lineOf({ err: { type: 'Error', message: 'no', stack }, msg: 'm' })).toBe(
      `[03:04:05.067] WARN: m err={"type":"Error","message":"no"}${shown}`,
    )
    expect(lineOf({ stack: ['f (a.mjs:1:2)'], msg: 'm' })).toBe('[03:04:05.067] WARN: m\n    f (a.mjs:1:2)\n')
  })

  it('leaves frames of pshub out of a stack, unless it has no others', () => {
    const theirs = ['Error: no', '    at handler (file:///app/tasks.mjs:4:9)']
    const ours = [
      '    at Run.start (file:///app/node_modules/pshub/dist/core.js:10:3)',
      '    at C:\\app\\node_modules\\pshub\\dist\\core.js:11:3',
      '    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)',
    ]
    const shown = (stack: string[]) =>
      lineOf({ stack: stack.join('\n'), msg: 'm' })
        .split('\n')
        .slice(1, -1)
    const indented = (lines: string[]) => lines.map(line => `    ${line}`)
    expect(shown([theirs[0]!, ours[0]!, theirs[1]!, ...ours])).toEqual(indented(theirs))
    expect(shown(['Error: no', ...ours])).toEqual(indented(['Error: no', ...ours]))
  })

  it('lets nothing of it command a terminal or begin a line', () => {
    const evil = '\u001b[2J\nline\u202e\u009b'
    const text = lineOf({ msg: evil, [`key${evil}`]: evil, stack: evil, list: [evil] })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
    expect(text.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
    expect(text.split('\n')).toHaveLength(4)
  })

  it('gives back what is no record, and names a level of somebody else by its number', () => {
    for (const line of ['words\n', 'null\n', '5\n']) expect(prettyLine(line, plain)).toBe(line)
    expect(lineOf({ level: 35 })).toBe('[03:04:05.067] 35:\n')
  })
})
