import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onFreePort } from '../../tools/redis-server.mjs'

const root = resolve(import.meta.dirname, '../..')
const flushMs = 100

/** What the daemon has flushed since it started, its own metrics left out. */
export interface Flushed {
  counters: Record<string, number>
  /** All values it was sent. */
  timers: Record<string, number[]>
  /** How many there were, sample rates counted in. */
  counts: Record<string, number>
  /** The last values. */
  gauges: Record<string, number>
}

export interface StatsdDaemon {
  /** UDP and TCP. */
  readonly port: number
  readonly flushed: Flushed
  stop(): Promise<void>
}

/** The statsd daemon of npm, as a process of its own. */
export const startStatsd = (): Promise<StatsdDaemon> => onFreePort(daemonOn)

const daemonOn = async (own: number): Promise<StatsdDaemon> => {
  const dir = mkdtempSync(join(tmpdir(), 'pshub-statsd-'))
  const config = join(dir, 'config.js')
  const address = '127.0.0.1'
  const servers = ['udp', 'tcp'].map(kind => ({ server: `./servers/${kind}`, address, port: own }))
  writeFileSync(
    config,
    JSON.stringify({
      servers,
      mgmt_address: address,
      // Any that is free; as a number it would count as none.
      mgmt_port: '0',
      backends: [join(root, 'test/support/statsd-backend.cjs')],
      flushInterval: flushMs,
      deleteIdleStats: true,
      deleteGauges: false,
    }),
  )
  const child = spawn(process.execPath, [join(root, 'node_modules/statsd/stats.js'), config], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  const exited = new Promise(done => child.once('exit', done))
  const flushed: Flushed = { counters: {}, timers: {}, counts: {}, gauges: {} }
  let rest = ''
  // Its servers listen before its first flush.
  await new Promise<void>((ready, failed) => {
    let told = ''
    child.stderr.on('data', data => (told += data))
    child.once('close', code => failed(new Error(`the statsd daemon ended with code ${code}:\n${told}`)))
    child.stdout.on('data', chunk => {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop()!
      for (const line of lines.filter(text => text.startsWith('{'))) {
        add(flushed, JSON.parse(line))
        ready()
      }
    })
  })
  return {
    port: own,
    flushed,
    async stop() {
      child.kill('SIGKILL')
      await exited
      process.off('exit', killNow)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

const add = (all: Flushed, { counters, timers, counts, gauges }: Flushed): void => {
  const own = <T>(values: Record<string, T>) => Object.entries(values).filter(([name]) => !name.startsWith('statsd.'))
  for (const [name, value] of own(counters)) all.counters[name] = (all.counters[name] ?? 0) + value
  for (const [name, values] of own(timers)) all.timers[name] = [...(all.timers[name] ?? []), ...values]
  for (const [name, value] of own(counts)) all.counts[name] = (all.counts[name] ?? 0) + value
  for (const [name, value] of own(gauges)) all.gauges[name] = value
}
