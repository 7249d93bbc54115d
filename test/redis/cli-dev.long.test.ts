import { mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type Dev, onEnd, processesIn, startDev, taskFile } from '../support/dev-process.ts'

it('says that a file does not load, here and to every page, and serves on with what did', async () => {
  const dev = startDev({ 'tasks.mjs': taskFile("() => 'first'") })
  await dev.shows('Serving:')
  const notice = await noticesOf(dev)
  dev.write('tasks.mjs', `${taskFile("() => 'second'")}\nexport const oops = {{\n`)
  await dev.shows(/The tasks do not load: tasks\.mjs could not be loaded: Unexpected token/)
  await expect.poll(notice).toMatch(/do not load: tasks\.mjs.*Unexpected token.*\nThe previous code keeps serving/)
  expect(await dev.hub().call('say:1.0', {})).toBe('first')
  dev.write('tasks.mjs', taskFile("() => 'third'"))
  await dev.shows(/The tasks load again\.[\s\S]*Reloaded/)
  await expect.poll(notice).toBeUndefined()
  expect(await dev.hub().call('say:1.0', {})).toBe('third')
})

/** What the live stream says last, as the pages get it. */
const noticesOf = async (dev: Dev): Promise<() => string | undefined> => {
  const [, address] = /Registry: (\S+)#token/.exec(dev.said())!
  const [, token] = /valid until it stops: (\S+)/.exec(dev.said())!
  const ending = new AbortController()
  onEnd(() => ending.abort())
  const { body } = await fetch(new URL('api/live?topics=summary', address), {
    headers: { authorization: `Bearer ${token}`, 'accept-encoding': 'identity' },
    signal: ending.signal,
  })
  let text = ''
  void (async () => {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) text += chunk
  })().catch(() => undefined)
  await expect.poll(() => text).toContain('event: reading')
  return () => {
    const last = [...text.matchAll(/event: reading\ndata: (.*)\n\n/g)].at(-1)![1]!
    return (JSON.parse(last) as { notice?: string }).notice
  }
}

it('waits for a file, and for an import, that is not there yet', async () => {
  const dev = startDev({})
  await dev.shows(/do not load: There is no module tasks\.mjs[\s\S]*Nothing is served/)
  dev.write('tasks.mjs', taskFile('() => word', "import { word } from './lib/word.mjs'"))
  await dev.shows(/do not load: [\s\S]*lib\/word\.mjs/)
  mkdirSync(join(dev.folder, 'lib'))
  dev.write('lib/word.mjs', 'export const word = 7\n')
  await dev.shows('Serving:')
  expect(await dev.hub().call('say:1.0', {})).toBe(7)
})

it('starts another worker when one dies', async () => {
  const dev = startDev({ 'tasks.mjs': taskFile('({ end }) => end ? process.exit(9) : process.pid') })
  await dev.shows('Serving:')
  const hub = dev.hub()
  const before = await hub.call('say:1.0', {})
  void hub.call('say:1.0', { end: true }).catch(() => undefined)
  await dev.shows('The worker ended (9)')
  await expect.poll(() => hub.call('say:1.0', {}).catch(() => before)).not.toBe(before)
})

it('leaves nothing behind when it is killed', async () => {
  const dev = startDev({ 'tasks.mjs': taskFile('() => 1') })
  await dev.shows('Serving:')
  dev.child.kill('SIGKILL')
  await dev.ended
  await expect.poll(() => processesIn(dev.folder, dev.redis()), { timeout: 60_000 }).toEqual([])
})

const occupied = async (port: number): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  onEnd(() => server.close())
  return (server.address() as { port: number }).port
}

it('takes a free port where its own is taken, and refuses one that was named', async () => {
  const port = await occupied(0)
  const named = startDev({ 'tasks.mjs': taskFile('() => 1') }, ['--port', String(port)])
  expect(await named.ended).toBe(2)
  expect(named.said()).toContain(`port ${port} is taken; choose another --port`)
  const other = startDev({ 'tasks.mjs': taskFile('() => 1') }, [], { PSHUB_REGISTRY_PORT: String(port) })
  await other.shows(/is taken; the pages are at a free one\.\nRegistry: http[\s\S]*Serving:/)
})

it('runs the Redis in JavaScript where no server is on the PATH', async () => {
  const dev = startDev({ 'tasks.mjs': taskFile('() => 1') }, ['--port', '0'], { PATH: '/nowhere' })
  await dev.shows(/Redis: js-redis-server, in JavaScript/)
  await dev.shows('Serving:')
  expect(await dev.hub().call('say:1.0', {})).toBe(1)
})
