import { spawnSync } from 'node:child_process'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Demo, root, runs } from '../support/demo-process.ts'

const paris = '/city/2988507'

/**
 * A page whose parts are late on a busy machine, or whose worker is just starting, is as it should be, but not what a test is
 * about: so it is asked for again.
 */
const pageThat = async (url: string, fits: (text: string) => boolean): Promise<string> => {
  let text = ''
  const look = async () => {
    const response = await fetch(url)
    expect(response.status).toBe(200)
    text = await response.text()
    return fits(text) || { gaps: text.match(/class="gap">[^<]*/g) }
  }
  await expect.poll(look, { interval: 100, timeout: 60_000 }).toBe(true)
  return text
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

/** One demo that most tests look at, because it takes seconds to start. Only the last test stops it. */
let shared: Demo
let address: string
const pids: Record<string, number> = {}
beforeAll(async () => {
  shared = new Demo(process.execPath, ['examples/demo/start.mjs'])
  const up = await shared.up()
  address = up.address
  Object.assign(pids, up.pids)
}, 180_000)
afterAll(async () => {
  shared.child.kill('SIGTERM')
  await shared.ended
})

describe('npm start', { timeout: 180_000 }, () => {
  it('serves pages and the registry, and does without what is late', async () => {
    expect(Object.keys(pids).sort()).toEqual([...(hasPython ? ['moon'] : []), 'places', 'sky', 'web'])
    const front = await fetch(address)
    expect(front.headers.get('content-security-policy')).toContain("default-src 'none'")
    const page = await pageThat(address + paris, isWhole)
    expect(page).toContain('Day length')

    const [, registry, token] = await shared.printed(/Registry +(http\S+)#token=(\S+)/)
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ query: 'Paris' })
    const call = await fetch(`${registry}api/call/city_search:1.0`, { method: 'POST', headers, body })
    expect([call.status, await call.text()]).toEqual([200, expect.stringContaining('2988507')])

    const late = await (await fetch(`${address}${paris}?slow=sky`)).text()
    expect(late).toMatch(/sun times: not available right now \(Timeout after \d+ ms\)/)
  })

  it('goes on without workers that were killed', async () => {
    await workersLost()
  })
})

let lost: Promise<void> | undefined

/** Kills workers of the shared demo, one after the other, unless that was done. It starts them again after 20 s. */
const workersLost = (): Promise<void> => {
  lost ??= (async () => {
    if (hasPython) {
      process.kill(pids.moon!, 'SIGKILL')
      await shared.printed(/The moon process \(pid \d+\) ended \(killed by SIGKILL\)/)
      const rest = await pageThat(address + paris, text => text.includes('Day length'))
      expect(rest).toMatch(/the moon tonight: not available right now/)
    }
    process.kill(pids.sky!, 'SIGKILL')
    await shared.printed(/The sky process \(pid \d+\) ended \(killed by SIGKILL\)/)
    const rest = await pageThat(address + paris, text => text.includes('Le Kremlin-Bicêtre'))
    expect(rest).toMatch(/sun times: not available right now/)
    expect(rest).toMatch(/local time: not available right now/)
  })()
  return lost
}

// Of demos of their own, while the shared one waits before it starts again what it lost.
describe('npm start -- --once', { timeout: 180_000 }, () => {
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
})

describe('npm start, told to stop', { timeout: 180_000 }, () => {
  it('stops when npm is, which does not pass it on', async () => {
    const demo = new Demo('npm', ['start'])
    demos.push(demo)
    const { pids } = await demo.up()
    demo.child.kill('SIGTERM')
    await demo.ended
    expect(demo.output).toContain('Stopping ...')
    expect(Object.values(pids).filter(runs)).toEqual([])
  })
})

describe('npm start without Python', { timeout: 180_000 }, () => {
  let demo: Demo
  let address: string
  let pids: Record<string, number>
  beforeAll(async () => {
    demo = new Demo(process.execPath, ['examples/demo/start.mjs'], withoutPython)
    ;({ address, pids } = await demo.up())
  }, 180_000)
  afterAll(async () => {
    demo.child.kill('SIGTERM')
    await demo.ended
  })

  it('starts, and says what is missing', async () => {
    expect(Object.keys(pids).sort()).toEqual(['places', 'sky', 'web'])
    expect(demo.output).toContain('There is no moon worker: there is no python3 of version 3.10 or newer.')
    const page = await pageThat(address + paris, text => gapsOf(text) === 1)
    expect(page).toContain('the moon tonight: not available right now (NoSuchTask: ')
  })

  it('takes its processes with it when it is killed', async () => {
    demo.child.kill('SIGKILL')
    await demo.ended
    // Nobody is left who could say that they have gone.
    await expect.poll(() => Object.values(pids).filter(runs), { timeout: 60_000 }).toEqual([])
  })
})

describe('npm start, some time later', { timeout: 180_000 }, () => {
  it('has started again what it lost', async () => {
    await workersLost()
    for (const name of hasPython ? ['moon', 'sky'] : ['sky']) {
      const [, pid] = await shared.printed(new RegExp(`The ${name} process is back, with pid (\\d+)`))
      expect(Number(pid)).not.toBe(pids[name])
      pids[name] = Number(pid)
    }
    await pageThat(address + paris, isWhole)
  })

  it('stops without a trace, also while it waits to start a worker again', async () => {
    process.kill(pids.sky!, 'SIGKILL')
    await shared.printed(new RegExp(`The sky process \\(pid ${pids.sky}\\) ended \\(killed by SIGKILL\\)`))
    shared.child.kill('SIGTERM')
    expect(await shared.ended).toEqual([0, null])
    expect(Object.values(pids).filter(runs)).toEqual([])
  })
})
