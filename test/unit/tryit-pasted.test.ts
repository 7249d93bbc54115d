import { describe, expect, it } from 'vitest'
import { readPasted } from '../../registry/web/try-it/arguments/pasted.ts'
import { argsToFragment } from '../../registry/web/try-it/arguments/share-link.ts'
import { noCallChoices } from '../../registry/web/try-it/run/call-choices.ts'
import { cliSnippet, curlSnippet } from '../../registry/web/try-it/snippets/texts.ts'
import { prettyLine } from '../../src/outlets/pretty.ts'

const id = 'hAx4WmHgRkt9nVrqo0bLmQ'
const value = { text: `it's "a" $HOME \\ line\nnext`, list: [1, -0.5, null, { a: {} }] }
const call = { ...noCallChoices, task: 'a:1.0', args: value, namespace: 'other', url: 'http://h/api/call/a%3A1.0' }
const argsIn = async (text: string): Promise<unknown> => {
  const found = await readPasted(text)
  return found.kind === 'args' ? JSON.parse(found.text) : found
}

describe('arguments in what is pasted', () => {
  it('are JSON as it is, a result for example', async () => {
    for (const args of [value, [], 7, 'x', { id: 'no job' }, { args: 1 }])
      expect(await argsIn(JSON.stringify(args))).toEqual(args)
  })

  it('are in the commands that this page copies, however it was quoted', async () => {
    expect(await argsIn(curlSnippet({ ...call, timeoutMs: 200 }))).toEqual(value)
    expect(await argsIn(`$ ${cliSnippet({ ...call, timeoutMs: 200, queue: 'q' })}`)).toEqual(value)
    expect(await argsIn(`curl http://h -d '{"a":1}' -H x`)).toEqual({ a: 1 })
    expect(await argsIn(String.raw`curl http://h --json="{\"a\": \"b c\"}"`)).toEqual({ a: 'b c' })
    expect(await argsIn(`curl http://h/api/enqueue/a --data-raw '{"args":{"a":1},"options":{"delayMs":5}}'`)).toEqual({
      a: 1,
    })
    expect(await argsIn('pshub call a:1.0 --timeout 5s')).toEqual({})
  })

  it('are in messages and in lists of jobs', async () => {
    expect(await argsIn(JSON.stringify({ at: 1, id, task: 'a:1.0', args: value }))).toEqual(value)
  })

  it('are in a link to the form', async () => {
    for (const long of [value, { a: 'x'.repeat(3000) }])
      expect(
        await argsIn(`http://h/pshub/tasks/a%3A1.0#as=json&${await argsToFragment(JSON.stringify(long))}`),
      ).toEqual(long)
    await expect(readPasted('http://h/tasks/a#packed=xxxx')).rejects.toThrow(/may be incomplete/)
  })

  it('keep numbers that JavaScript would change', async () => {
    const found = await readPasted('{"task":"a:1.0","args":{"big":12345678901234567890}}')
    expect(found).toMatchObject({ kind: 'args', text: '{\n  "big": 12345678901234567890\n}' })
  })

  it('are those of the job that a line of the log names: JSON, behind a prefix, and as terminals show it', async () => {
    const line = JSON.stringify({
      level: 40,
      time: 1795220163659,
      pid: 1,
      task: 'a:1.0',
      id,
      queue: 'images',
      msg: 'task failed',
    })
    const pretty = prettyLine(line, (_, text) => text)
    expect(pretty).toContain('task failed')
    for (const text of [line, `worker_1  | ${line}`, pretty, `other line\n${line}`])
      expect(await readPasted(text)).toEqual({ kind: 'job', id, queue: 'images' })
    expect(await readPasted(`INFO running a with {"a":1} now`)).toMatchObject({ kind: 'args', text: '{"a":1}' })
  })

  it('are those of a job by its id or its address', async () => {
    expect(await readPasted(` ${id}\n`)).toEqual({ kind: 'job', id, queue: undefined })
    expect(await readPasted(`"${id}"`)).toEqual({ kind: 'job', id, queue: undefined })
    expect(await readPasted(`https://h/pshub/jobs/${id}?queue=q&state=dead`)).toEqual({ kind: 'job', id, queue: 'q' })
  })

  it.each(['', 'nothing of the kind', 'curl http://h', `id=${id}x`, '{"a":', 'https://h/tasks/a'])(
    'are not in %j',
    async text => {
      expect(await readPasted(text)).toEqual({ kind: 'nothing' })
    },
  )

  it('are looked for in bounded time', async () => {
    for (const text of [
      "'".repeat(99_999),
      `curl ${"'\\".repeat(50_000)}`,
      `curl "${'\\"'.repeat(50_000)}`,
      '{'.repeat(100_000),
      ' id='.repeat(50_000),
      `${'x'.repeat(100)}\n`.repeat(2000),
    ])
      expect(await readPasted(text)).toBeDefined()
  })
})
