import { describeTarget } from '../redis/target.ts'
import type { Settings } from '../settings/read.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { exitCodes, type StopSignal, signalCodes } from './exit-codes.ts'
import { aboutLoad } from './figures.ts'
import { jsonOption } from './options.ts'
import type { Output, Sink } from './output.ts'
import { OverviewWatch } from './overview-watch.ts'
import { printable } from './printable.ts'
import { readRegistry } from './registry.ts'
import { Screen } from './screen.ts'
import { onStopSignals } from './stop-signals.ts'
import { type Sort, sorts, summaryOf, writeOverviewTables } from './top-view.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { flags, output, host } = invocation
  const settings = settingsOf('hub', topCommand, invocation, 'silent')
  const sort = sortOf(flags.sort ?? 'load')
  const canRedraw = output.out.isTerminal && host.env.TERM !== 'dumb'
  const isLive = canRedraw && flags.once === undefined && flags.json === undefined
  return isLive
    ? showLive(settings, sort, output.out.paint)
    : showOnce(settings, sort, output, flags.json !== undefined)
}

const sortOf = (text: string): Sort => {
  const sort = sorts.find(known => known === text)
  if (sort) return sort
  throw new UsageError(`--sort must be ${sorts.join(', ')}; it is '${text}'.`, 'top')
}

const showOnce = async (settings: Readonly<Settings>, sort: Sort, output: Output, isJson: boolean): Promise<number> => {
  const overview = await readRegistry(settings)
  if (isJson) output.json(overview)
  else {
    output.out.line(summaryOf(overview))
    output.out.line()
    writeOverviewTables(output.out, overview, sort)
  }
  return exitCodes.ok
}

/** Redrawn at least this often: the age of what is shown goes on while Redis is away. */
const redrawMs = 1000

/** Until q, Ctrl-C or a signal. Resolves with the exit code when the terminal is as it was. */
const showLive = async (settings: Readonly<Settings>, firstSort: Sort, paint: Sink['paint']): Promise<number> => {
  let sort = firstSort
  let pausedFrame: Frame | undefined
  let stop: (code: number) => void = () => undefined
  const stopped = new Promise<number>(resolve => {
    stop = resolve
  })
  const frame = (): Frame => pausedFrame ?? { overview: watch.overview, at: new Date() }
  const draw = (): void => {
    const status = pausedFrame ? paint('yellow', 'paused') : statusOf(watch, paint)
    screen.draw(linesOf({ settings, frame: frame(), sort, status, paint, width: screen.columns, height: screen.rows }))
  }
  const keys: Record<string, () => void> = {
    q: () => stop(exitCodes.ok),
    '\u0003': () => stop(exitCodes.ok),
    p: () => {
      pausedFrame = pausedFrame ? undefined : frame()
    },
    s: () => {
      sort = sorts[(sorts.indexOf(sort) + 1) % sorts.length]!
    },
  }
  const screen = new Screen({
    onKey: key => {
      keys[key.toLowerCase()]?.()
      draw()
    },
    onResize: draw,
  })
  const watch = new OverviewWatch(settings, draw)
  const leaveOn = (signal: StopSignal) => stop(signal === 'SIGINT' ? exitCodes.ok : signalCodes[signal])
  const endOfSignals = onStopSignals(leaveOn, leaveOn)
  const timer = setInterval(draw, redrawMs)
  try {
    screen.open()
    draw()
    watch.start()
    return await stopped
  } finally {
    screen.close()
    clearInterval(timer)
    endOfSignals()
    await watch.stop()
  }
}

interface Frame {
  overview: OverviewWatch['overview']
  at: Date
}

const statusOf = ({ overview, ageMs, awayBecause }: OverviewWatch, paint: Sink['paint']): string => {
  if (awayBecause === undefined) return overview ? '' : 'connecting'
  const age = overview ? `; figures are ${formatDuration(ageMs)} old` : ''
  return paint('red', `Redis is unreachable: ${printable(awayBecause)}${age}; reconnecting`)
}

interface Drawing {
  settings: Readonly<Settings>
  frame: Frame
  sort: Sort
  status: string
  paint: Sink['paint']
  width: number
  height: number
}

const linesOf = ({ settings, frame: { overview, at }, sort, status, paint, width, height }: Drawing): string[] => {
  const lines: string[] = []
  const sink: Sink = { isTerminal: true, width, paint, line: (text = '') => void lines.push(text) }
  const where = `${settings.namespace} on ${describeTarget(settings.redis)}`
  lines.push(`${paint('bold', 'pshub top')}  ${at.toLocaleTimeString('en-GB')}  ${printable(where)}`)
  const foot = paint('dim', `q quit, p pause, s sort (by ${sort})`)
  if (!overview) return [...lines, status, '', foot]
  lines.push(status === '' ? summaryOf(overview) : status, '')
  if (overview.queues.length === 0) lines.push('No worker is running. Start one: pshub worker ./tasks.mjs')
  else writeOverviewTables(sink, overview, sort, height - lines.length - 2)
  return [...lines.slice(0, height - 2), '', foot]
}

export const topCommand: Command = {
  name: 'top',
  usage: 'top',
  summary: 'watch queues, tasks and workers live',
  about: [
    'Shows queues, tasks and workers in one view, the busiest first, updated every second. q or Ctrl-C quits, p ' +
      'pauses and resumes, s changes the order: load (slot time; for queues: waiting requests), calls, errors, waits, ' +
      'name. While Redis is unreachable, the last figures stay with their age.',
    aboutLoad,
    'If the output is not a terminal, or with --once or --json, it prints one reading and ends.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    { flag: 'sort', value: 'order', about: sorts.join(', '), fallback: 'load' },
    { flag: 'once', about: 'print one reading and end' },
    jsonOption,
  ],
  examples: [
    { line: 'pshub top', about: 'until you press q' },
    { line: 'pshub top --once --sort errors | head -20', about: 'one reading' },
    { line: "pshub top --json | jq '[.queues[].backlog] | add'", about: 'for programs' },
  ],
  exitCodes: {
    0: 'q, Ctrl-C, or one reading was printed',
    1: 'Redis refused',
    2: 'the command line or a setting is wrong',
    3: 'Redis could not be reached (for one reading; the live view reconnects)',
    143: 'SIGTERM',
  },
  run,
}
