import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pythonOf } from '../../src/types/python.ts'
import { schemasOf } from '../../src/types/schemas.ts'
import { typescriptOf } from '../../src/types/typescript.ts'
import { pythonEnv } from '../../tools/python-env.mjs'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { typedTasks } from '../support/typed-tasks.ts'

/** What `pshub types` writes, in the hands of callers: a small project with each compiler, and mypy. */
let folder: string

beforeAll(() => {
  ensureBuild()
  folder = mkdtempSync(join(tmpdir(), 'pshub-generated-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/pshub'))
  symlinkSync(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  writeFileSync(join(folder, 'tasks.d.mts'), typescriptOf(schemasOf(typedTasks)))
  writeFileSync(join(folder, 'tasks.pyi'), pythonOf(schemasOf(typedTasks)))
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const caller = `
import { Hub, type Job } from 'pshub'
import type { Shapes1_0Args, Tasks } from './tasks.mjs'
type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function is<Expected>() {
  return { of<Actual>(_value: Actual, ..._same: IsSame<Actual, Expected> extends true ? [] : [never]): void {} }
}
const hub = new Hub<Tasks>()
is<number>().of(await hub.call('add:1.0', { a: 1, b: 2 }))
is<number>().of(await hub.call('add:1', { a: 1 }))
is<number>().of(await hub.call('add'))
const job: Job<number> = await hub.enqueue('add:1.0', { a: 1, b: 2 }, { tracked: true })
const tree = await hub.call('image/re-size_it:2.1', { 'a-b': 'x', class: 1, '*/': 'a', 'q"u\\\\o\\nte': null })
is<string | undefined>().of(tree.children?.[0]?.children?.[0]?.value)
const found = await hub.gather({ list: ['shapes:1.0', { kind: 'circle', either: { n: 1 }, both: { left: 'a', right: 'b' }, pair: ['a', 1],
  open: { any: 1 }, more: { id: 'a', other: 1 }, maybe: null, none: {}, free: { a: 1 }, self: { kind: 'circle' } }] })
if (found.list.ok) is<null | boolean[]>().of(found.list.value)
is<unknown>().of(await hub.call('circle:1.0', 1))
is<unknown>().of(await hub.call('nothing:1.0'))
for await (const chunk of hub.stream('chat:1', { text: 'Hi' })) is<{ word: string } | null>().of(chunk)
for await (const chunk of hub.stream('add:1.0', { a: 1, b: 2 })) is<unknown>().of(chunk)
is<[string, number] | undefined>().of(({} as Shapes1_0Args).pair)
`
/** Each of them alone is an error. */
const mistakes = [
  "hub.call('ad:1.0', {})",
  "hub.stream('ad:1.0', {})",
  "hub.stream('chat:1.0', { text: 1 })",
  "for await (const chunk of hub.stream('chat:1.0', { text: '' })) chunk!.wrod",
  "hub.call('add:1.0', { a: '1', b: 2 })",
  "hub.call('add:1.0', { a: 1 })",
  "hub.call('add:1.0', { a: 1, b: 2, c: 3 })",
  "(await hub.call('image/re-size_it:2.1', { 'a-b': 1 })).valeu",
  "hub.call('image/re-size_it:2.1', { 'a-b': 'z' })",
  "hub.enqueue('add:1.0', { a: 1, b: false })",
  "hub.gather({ a: ['shapes:1.0', { kind: 'square' }] })",
  "hub.call('shapes:1.0', { kind: 'circle', pair: ['a', 1, 2] })",
  "hub.call('shapes:1.0', { kind: 'circle', both: { left: 'a' } })",
  "hub.call('shapes:1.0', { kind: 'circle', none: { a: 1 } })",
]

const compile = (compiler: string): string[] => {
  const program = join(root, 'node_modules', compiler, 'bin/tsc')
  const options = [
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--lib',
    'es2022',
    '--module',
    'nodenext',
    '--types',
    'node',
  ]
  const args = [program, ...options, '--pretty', 'false', 'caller.mts']
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  return stdout.split('\n').filter(line => line !== '')
}

describe.each(['typescript', 'typescript-5.4'])('by %s', compiler => {
  it('types of live tasks make each mistake an error', { timeout: 240_000 }, () => {
    writeFileSync(join(folder, 'caller.mts'), caller)
    expect(compile(compiler)).toEqual([])
    writeFileSync(join(folder, 'caller.mts'), `${caller}\n${mistakes.map(code => `;${code}`).join('\n')}\n`)
    const first = caller.split('\n').length + 1
    const lines = compile(compiler).flatMap(line => /^caller\.mts\((\d+)/.exec(line)?.[1] ?? [])
    expect([...new Set(lines)].map(line => mistakes[Number(line) - first])).toEqual(mistakes)
  })
})

/** The project's own Python, with mypy; or why there is none, in a sentence. */
const pythonWithMypy = (): { python: string } | { lack: string } => {
  try {
    const python = pythonEnv()
    const { status, stderr } = spawnSync(python, ['-m', 'mypy', '--version'], { encoding: 'utf8' })
    return status === 0 ? { python } : { lack: `mypy could not be installed: ${stderr.trim()}` }
  } catch (error) {
    return { lack: (error as Error).message }
  }
}

const pythonCaller = `
from __future__ import annotations
from typing import TYPE_CHECKING, Any
from typing_extensions import assert_type
from pshub import AsyncHub, Hub
if TYPE_CHECKING:
    from tasks import AsyncTasks, Chat1_0Chunk, Shapes1_0Args, Tasks

tasks: Tasks = Hub().tasks
assert_type(tasks["add:1.0"].call({"a": 1, "b": 2}), float)
assert_type(tasks["add"].call({}, on_progress=lambda progress: print(progress.done)), float)
tree = tasks["image/re-size_it:2.1"].call({"a-b": "x", "class": 1})
assert_type(tree["value"], str)
assert_type(tree["children"][0]["value"], str)
args: Shapes1_0Args = {"kind": "circle", "either": {"n": 1}, "open": {"any": 1.5}, "maybe": None, "self": {"kind": "circle"}}
assert_type(tasks["shapes:1.0"].call(args), None | list[bool])
assert_type(tasks["nothing:1.0"].call({}), Any)
job = tasks["add:1.0"].enqueue({"a": 1, "b": 2}, delay_ms=5)
assert_type(job.result(), float)

for chunk in tasks["chat:1"].stream({"text": "Hi"}, timeout=5, idle=1):
    assert_type(chunk, None | Chat1_0Chunk)
    assert_type(chunk["word"] if chunk else "", str)
with tasks["more:1.0"].stream({}) as stream:
    assert_type(list(stream), list[Any])

async def read(tasks: AsyncTasks) -> None:
    async for chunk in tasks["chat:1.0"].stream({"text": "Hi"}):
        assert_type(chunk["word"] if chunk else "", str)

async def later(tasks: AsyncTasks) -> float:
    return await tasks["add:1.0"].call({"a": 1, "b": 2}, timeout=5)

def made() -> AsyncTasks:
    tasks: AsyncTasks = AsyncHub().tasks
    return tasks
`
/** Each of them alone is an error, of one line or of two with a hint. */
const pythonMistakes = [
  'tasks["ad:1.0"].call({})',
  'tasks["add:1.0"].call({"a": "1", "b": 2})',
  'tasks["add:1.0"].call({"a": 1})',
  'tasks["add:1.0"].call()',
  'tree["valeu"]',
  'tasks["add"].call({}, on_progress=lambda progress: progress.don)',
  'tasks["image/re-size_it:2.1"].call({"a-b": "z"})',
  'tasks["add:1.0"].enqueue({"a": 1, "b": 2, "c": 2})',
  'tasks["chta:1.0"].stream({"text": ""})',
  'tasks["chat:1.0"].stream({"text": 1})',
  'for mistaken in tasks["chat:1.0"].stream({"text": ""}): print(mistaken and mistaken["wrod"])',
]

describe('by mypy --strict', () => {
  it('types of live tasks make each mistake an error', { timeout: 240_000 }, ({ skip }) => {
    const found = pythonWithMypy()
    if ('lack' in found) return skip(found.lack)
    const { python } = found
    const check = (text: string) => {
      writeFileSync(join(folder, 'caller.py'), text)
      const { stdout } = spawnSync(python, ['-m', 'mypy', '--strict', 'caller.py'], { cwd: folder, encoding: 'utf8' })
      return stdout.split('\n').filter(line => line.startsWith('caller.py:'))
    }
    expect(check(pythonCaller)).toEqual([])
    const first = pythonCaller.split('\n').length
    const said = check(`${pythonCaller}${pythonMistakes.join('\n')}\n`)
    const lines = said.flatMap(line => /^caller\.py:(\d+)/.exec(line)?.[1] ?? [])
    expect([...new Set(lines)].map(line => pythonMistakes[Number(line) - first])).toEqual(pythonMistakes)
    // About the task at hand, however many there are.
    expect(said.length, said.join('\n')).toBeLessThanOrEqual(2 * pythonMistakes.length)
  })
})
