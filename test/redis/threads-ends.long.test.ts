import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Task } from '../../src/index.ts'
import { root } from '../support/cli-fixture.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'
import { useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const { file, library, startWorker, written } = useThreads(it_)

describe('a run that is given up', () => {
  it('hears its signal in the thread, which lives on', async () => {
    await startWorker()
    const hub = it_.hub()
    const leave = new AbortController()
    const [begun, ended] = [file(), file()]
    const call = failure(hub.call('heeding:1.0', { begun, ended }, { signal: leave.signal }))
    const thread = await written(begun)
    leave.abort()
    expect(await call).toMatchObject({ code: 'Aborted' })
    expect(await written(ended)).toBe('Aborted true true')
    const again = file()
    const late = failure(hub.call('heeding:1.0', { begun: again, ended: file() }, { timeoutMs: 2000 }))
    expect(await written(again)).toBe(thread)
    expect(await late).toMatchObject({ code: 'Timeout' })
  })
})

describe('a thread that dies', () => {
  const moduleOf = (text: string) => {
    const path = `${file()}.mjs`
    const index = JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)
    writeFileSync(path, `import * as pshub from ${index}\nimport { isMainThread } from 'node:worker_threads'\n${text}`)
    return pathToFileURL(path).href
  }
  const ofModule = (module: string) => library().defineTask('other:1.0', { threads: 1, module }, () => 'here') as Task

  it('because its module fails there gives the reason, each time anew', async () => {
    const flag = file()
    const module = moduleOf(`import { existsSync } from 'node:fs'
if (!existsSync(${JSON.stringify(flag)})) throw new Error('no database')
export const task = pshub.defineTask('other:1.0', {}, () => 'from the module')`)
    await startWorker({ tasks: [ofModule(module)] })
    const hub = it_.hub()
    for (let n = 0; n < 2; n++) {
      const { code, message } = await failure(hub.call('other:1.0'))
      expect([code, message]).toEqual(['TaskFailed', `${module} failed while loading in a thread: no database`])
    }
    writeFileSync(flag, '')
    expect(await hub.call('other:1.0')).toBe('from the module')
  })

  it.each([
    ['exports another task', `export const a = pshub.defineTask('a:1.0', {}, () => 1)`, 'does not export other:1.0'],
    ['starts a worker', `new pshub.Worker({ tasks: [] })`, 'put the tasks into a module of their own'],
    ['ends the process', `process.exit(0)`, 'worker exited with code: 0'],
    ['is not JavaScript', `export const = 5`, 'failed while loading in a thread: Unexpected token'],
  ])('or cannot run it, because its module %s, says so', async (_, text, message) => {
    await startWorker({ tasks: [ofModule(moduleOf(text))] })
    const failed = await failure(it_.hub().call('other:1.0'))
    expect(failed.code).toBe('TaskFailed')
    expect(failed.message).toContain(message)
  })
})
