import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Hub } from '../../src/index.ts'

const root = resolve(import.meta.dirname, '../..')
const paris = '/city/2988507'

/** The demo as a user starts it, with its embedded Redis; what it prints can be waited for. */
class Demo {
  readonly child: ChildProcess
  readonly ended: Promise<unknown[]>
  output = ''
  errors = ''

  constructor(command: string, args: string[], env: Record<string, string> = {}) {
    const { PSHUB_REDIS: _redis, HOST: _host, ...clean } = process.env
    this.child = spawn(command, args, {
      cwd: root,
      env: { ...clean, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    createInterface({ input: this.child.stdout! }).on('line', line => {
      this.output += `${line}\n`
      this.child.emit('printed')
    })
    this.child.stderr!.on('data', data => {
      this.errors += data
    })
    this.ended = once(this.child, 'close')
  }

  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output)
      if (match) return match
      const what = await Promise.race([once(this.child, 'printed'), this.ended.then(() => 'ended')])
      if (what === 'ended')
        throw new Error(`The demo ended before it printed ${pattern}:\n${this.output}${this.errors}`)
    }
  }

  /** Its address and the pids of all its processes, once it is up. */
  async up(): Promise<{ address: string; pids: Record<string, number> }> {
    await this.printed(/Ctrl-C stops everything/)
    const [, address] = await this.printed(/Page +(http:\S+)/)
    const listed = [...this.output.matchAll(/(\w+) \(pid (\d+)\)/g)].map(([, name, pid]) => [name, Number(pid)])
    return { address: address!, pids: Object.fromEntries(listed) }
  }
}

const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * A page whose parts are late on a busy machine, or whose worker is just starting, is as it should be, but not what a test is
 * about: so some tries.
 */
const pageThat = async (url: string, fits: (text: string) => boolean): Promise<string> => {
  for (let tries = 30; ; tries--) {
    const response = await fetch(url)
    expect(response.status).toBe(200)
    const text = await response.text()
    if (fits(text)) return text
    if (tries === 1) throw new Error(`The page stayed incomplete: ${text.match(/class="gap">[^<]*/g)}`)
    await sleep(100)
  }
}

/**
 * The demo makes its Python environment while it runs; here that is done before, so that --once has its moon too. A machine
 * without Python fails nothing: the demo has to do without there.
 */
const made = spawnSync(process.execPath, ['tools/python-env.mjs', '--demo'], { cwd: root, encoding: 'utf8' })
const hasPython = made.status === 0
if (!hasPython) console.log(`The demo's worker in Python was not tested: ${made.stderr.trim()}.`)

const gapsOf = (text: string) => text.match(/class="gap"/g)?.length ?? 0
const isWhole = (text: string) => gapsOf(text) === (hasPython ? 0 : 1)

/** Nothing that a PATH leads to, so no python3 either; Node is started by its own path. */
const withoutPython = { PATH: '/nowhere', PSHUB_TEST_PYTHON: '' }

const demos: Demo[] = []
const start = (args: string[], env?: Record<string, string>): Demo => {
  const demo = new Demo(process.execPath, ['examples/demo/start.mjs', ...args], env)
  demos.push(demo)
  return demo
}

afterEach(async () => {
  for (const demo of demos.splice(0)) {
    demo.child.kill('SIGTERM')
    await demo.ended
  }
})

describe('npm start -- --once', { timeout: 90_000 }, () => {
  it('prints one whole page and leaves', async () => {
    const demo = start(['--once'])
    expect(await demo.ended).toEqual([0, null])
    for (const part of ['Paris', 'Day length', 'Continent', 'Le Kremlin-Bicêtre', 'Europe/Paris']) {
      expect(demo.output).toContain(part)
    }
    for (const task of ['city_facts', 'local_time', 'sun_times', 'city_country', 'city_neighbours']) {
      expect(demo.output).toMatch(new RegExp(`${task}:1\\.0 +[\\d.]+ ms +ok`))
    }
    if (hasPython) expect(demo.output).toMatch(/moon_tonight:1\.0 +[\d.]+ ms +ok/)
    expect(demo.output.match(/not available/g) ?? []).toHaveLength(hasPython ? 0 : 1)
    expect(demo.output).not.toContain('Registry')
  })

  it('does without the moon where there is no Python, and says so', async () => {
    const demo = start(['--once'], withoutPython)
    expect(await demo.ended).toEqual([0, null])
    expect(demo.errors).toContain('There is no moon worker: there is no python3 of version 3.9 or newer.\n')
    expect(demo.output).toMatch(/the moon tonight: not available right now \(NoSuchTask: /)
    expect(demo.output.match(/not available/g)).toHaveLength(1)
  })

  it('says that there is no such city', async () => {
    const demo = start(['--once', '--city', '7'])
    expect(await demo.ended).toEqual([1, null])
    expect(demo.errors).toContain('There is no city with the id 7.')
  })
})

describe('npm start', { timeout: 90_000 }, () => {
  it('serves pages, survives the loss of a worker, and stops without a trace', async () => {
    const demo = start([])
    const { address, pids } = await demo.up()
    expect(Object.keys(pids).sort()).toEqual([...(hasPython ? ['moon'] : []), 'places', 'sky', 'web'])

    const front = await fetch(address)
    expect(front.headers.get('content-security-policy')).toContain("default-src 'none'")
    const page = await pageThat(address + paris, isWhole)
    expect(page).toContain('Day length')

    const [, registry, token] = await demo.printed(/Registry +(http\S+)#token=(\S+)/)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ query: 'Paris' })
    const call = await fetch(`${registry}api/call/city_search:1.0`, { method: 'POST', headers, body })
    expect([call.status, await call.text()]).toEqual([200, expect.stringContaining('2988507')])

    const late = await (await fetch(`${address}${paris}?slow=sky`)).text()
    expect(late).toMatch(/sun times: not available right now \(Timeout after \d+ ms\)/)

    process.kill(pids.sky!, 'SIGKILL')
    await demo.printed(/The sky process \(pid \d+\) ended \(killed by SIGKILL\)/)
    const rest = await pageThat(address + paris, text => text.includes('Le Kremlin-Bicêtre'))
    expect(rest).toMatch(/sun times: not available right now/)
    expect(rest).toMatch(/local time: not available right now/)

    demo.child.kill('SIGTERM')
    expect(await demo.ended).toEqual([0, null])
    expect(Object.values(pids).filter(runs)).toEqual([])
  })

  const itWithPython = hasPython ? it : () => undefined
  itWithPython('has a worker in Python, which knows the moon and asks the places worker', async () => {
    const demo = start([])
    const { address, pids } = await demo.up()
    const [url] = await demo.printed(/redis:\/\/\S+/)
    const hub = new Hub({ redis: url, logLevel: 'silent' })
    try {
      expect((await hub.tasks()).find(({ task }) => task === 'moon_tonight:1.0')).toMatchObject({ queue: 'moon' })
      // Known instants, to the minute: new on 11 January 2024 at 11:57, full on the 25th at 17:54.
      const known = (await hub.call('moon_phase:1.0', { at: '2024-01-10T00:00:00Z' })) as Record<string, string>
      const offMs = (text: string, expected: string) => Math.abs(Date.parse(text) - Date.parse(expected))
      expect(offMs(known.nextNewMoon!, '2024-01-11T11:57:00Z')).toBeLessThan(120_000)
      expect(offMs(known.nextFullMoon!, '2024-01-25T17:54:00Z')).toBeLessThan(120_000)
      expect(known).toMatchObject({ phase: 'waning crescent' })
      const full = await hub.call('moon_phase:1.0', { at: '2024-01-25T17:54:00Z' })
      expect(full).toMatchObject({ phase: 'full moon', litPart: 1, ageDays: 14.2 })
      // A waxing moon is lit on the right from the north, on the left from the south.
      const over = (cityId: number) => hub.call('moon_tonight:1.0', { cityId, at: '2024-01-18T12:00:00Z' })
      expect(await over(2988507)).toMatchObject({ litSide: 'right' })
      expect(await over(2147714)).toMatchObject({ litSide: 'left' })
      await expect(over(7)).rejects.toThrow('There is no city with the id 7.')
    } finally {
      await hub.close()
    }

    await pageThat(address + paris, text => text.includes('Next full moon'))
    process.kill(pids.moon!, 'SIGKILL')
    await demo.printed(/The moon process \(pid \d+\) ended \(killed by SIGKILL\)/)
    const rest = await pageThat(address + paris, text => text.includes('Day length'))
    expect(rest).toMatch(/the moon tonight: not available right now/)
    await demo.printed(/The moon process is back/)
    await pageThat(address + paris, text => text.includes('Next full moon'))
  })

  it('stops when npm is told to, which does not pass it on', async () => {
    const demo = new Demo('npm', ['start'])
    demos.push(demo)
    const { pids } = await demo.up()
    demo.child.kill('SIGTERM')
    await demo.ended
    expect(demo.output).toContain('Stopping ...')
    expect(Object.values(pids).filter(runs)).toEqual([])
  })

  it('says which port is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const demo = start([], { PORT: String(port) })
    expect(await demo.ended).toEqual([1, null])
    expect(demo.errors).toContain(`Port ${port} is taken.`)
    server.close()
  })

  it('refuses options that do not exist', async () => {
    const demo = start(['--onec'])
    expect(await demo.ended).toEqual([2, null])
    expect(demo.errors).toBe('There is no option --onec. See npm start -- --help.\n')
  })
})

describe('npm start without Python', { timeout: 90_000 }, () => {
  let demo: Demo
  let address: string
  let pids: Record<string, number>
  beforeAll(async () => {
    demo = new Demo(process.execPath, ['examples/demo/start.mjs'], withoutPython)
    ;({ address, pids } = await demo.up())
  }, 90_000)
  afterAll(async () => {
    demo.child.kill('SIGTERM')
    await demo.ended
  })

  it('starts, and says what is missing', async () => {
    expect(Object.keys(pids).sort()).toEqual(['places', 'sky', 'web'])
    expect(demo.output).toContain('There is no moon worker: there is no python3 of version 3.9 or newer.')
    const page = await pageThat(address + paris, text => gapsOf(text) === 1)
    expect(page).toContain('the moon tonight: not available right now (NoSuchTask: ')
  })

  it('answers addresses that lead nowhere with pages of their own', async () => {
    const statusOf = async (path: string, init?: RequestInit) => {
      const response = await fetch(address + path, { redirect: 'manual', ...init })
      expect(await response.text()).not.toMatch(/\n\s+at /)
      return response.status
    }
    expect(await statusOf('/')).toBe(200)
    expect(await statusOf('/search?q=%3Cscript%3E')).toBe(200)
    expect(await statusOf('/search?q=+')).toBe(303)
    expect(await statusOf('/world.svg')).toBe(200)
    expect(await statusOf('/city/7')).toBe(404)
    expect(await statusOf('/city/9999999999')).toBe(404)
    expect(await statusOf('/city/paris')).toBe(404)
    expect(await statusOf('/nowhere')).toBe(404)
    expect(await statusOf('/', { method: 'POST' })).toBe(405)
    expect(await statusOf('/', { method: 'HEAD' })).toBe(200)
  })

  it('takes its processes with it when it is killed', async () => {
    demo.child.kill('SIGKILL')
    await demo.ended
    // Nobody is left who could say that they have gone.
    while (Object.values(pids).some(runs)) await sleep(50)
  })
})
