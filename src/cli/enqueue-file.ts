import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Hub } from '../hub/hub.ts'
import type { EnqueueOptions } from '../jobs/enqueue-options.ts'
import type { EnqueueEntry } from '../jobs/entries.ts'
import { HubError, messageOf } from '../wire/errors.ts'
import { rounded } from '../wire/json/numbers.ts'
import { UsageError } from './arguments.ts'
import type { Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { parseJson, stdin, withoutMark } from './flag-values.ts'
import type { Output } from './output.ts'
import { Progress } from './progress.ts'

/** One line of a file. */
export interface Line {
  entry: EnqueueEntry
  /** Counted from 1. */
  line: number
}

/** So many are checked, and sent, at a time: a signal is heeded in between. */
const portion = 10_000

/**
 * @param task each line is the arguments of one; undefined: each is [task, args, options]
 * @throws UsageError
 */
export const readLines = (file: string, text: string, task: string | undefined): Line[] => {
  const lines: Line[] = []
  for (const [at, json] of text.split('\n').entries()) {
    if (json.trim() === '') continue
    const line = at + 1
    const value = parseJson(json, `${file}, line ${line}, is not JSON`, 'enqueue')
    lines.push({ entry: task === undefined ? entryOf(value) : [task, value], line })
  }
  if (lines.length === 0) throw new UsageError(`${file} has no lines.`, 'enqueue')
  return lines
}

/** Only arguments are passed on as they are written. */
const entryOf = (value: unknown): EnqueueEntry => {
  if (!Array.isArray(value)) return value as EnqueueEntry
  const [task, args, ...options] = value
  return [task, args, ...(rounded(options) as unknown[])].slice(0, value.length) as unknown as EnqueueEntry
}

/** `-` is stdin. @throws UsageError */
export const textOfFile = async (file: string, invocation: Pick<Invocation, 'host' | 'output'>): Promise<string> => {
  if (file === '-') return stdin('entries, one per line,', invocation)
  try {
    return withoutMark(readFileSync(resolve(invocation.host.cwd, file), 'utf8'))
  } catch (error) {
    throw new UsageError(`--file ${file} cannot be read: ${messageOf(error)}.`, 'enqueue')
  }
}

/** Enqueues what lines say: all are checked before the first is sent. */
export const enqueueLines = async (
  hub: Hub,
  lines: readonly Line[],
  options: EnqueueOptions,
  { flags, output, host }: Invocation,
  interrupt: AbortSignal,
): Promise<number> => {
  const isJson = flags.json !== undefined
  const portions = Array.from({ length: Math.ceil(lines.length / portion) }, (_, n) =>
    lines.slice(n * portion, (n + 1) * portion),
  )
  for (const some of portions) {
    heed(interrupt, 0, lines.length)
    await checked(hub, some, options, isJson ? undefined : output)
  }
  const count = lines.length === 1 ? '1 job' : `${lines.length} jobs`
  if (flags['dry-run'] !== undefined) {
    if (isJson) output.json({ checked: lines.length })
    else output.out.line(`${count} can be enqueued; nothing was enqueued.`)
    return exitCodes.ok
  }
  const isShown = output.err.isTerminal && !isJson
  const progress = new Progress(lines.length, isShown ? text => void host.stderr.write(text) : undefined)
  const ids: string[] = []
  let twins = 0
  try {
    for (const some of portions) {
      heed(interrupt, ids.length, lines.length)
      const onProgress = (sent: number) => progress.show(ids.length + sent)
      const sent = await hub
        .enqueueMany(entriesOf(some), options, { onProgress })
        .catch(error => Promise.reject(brokenOff(error, ids.length, lines.length)))
      ids.push(...sent.ids)
      twins += sent.twins
    }
  } finally {
    progress.end()
  }
  if (isJson) output.json({ enqueued: ids.length - twins, twins, ids })
  else output.out.line(`${count} ${lines.length === 1 ? 'is' : 'are'} enqueued${twinsText(twins)}.`)
  return exitCodes.ok
}

const entriesOf = (lines: readonly Line[]): EnqueueEntry[] => lines.map(({ entry }) => entry)

const twinsText = (twins: number): string => (twins === 0 ? '' : `; ${twins} of them existed already`)

/** @param output where to say which line is wrong; undefined: it is in the data alone */
const checked = async (
  hub: Hub,
  lines: readonly Line[],
  options: EnqueueOptions,
  output: Output | undefined,
): Promise<void> => {
  try {
    await hub.enqueueMany(entriesOf(lines), options, { checkOnly: true })
  } catch (error) {
    const { data, cause } = error as HubError
    const { index, ...rest } = (data ?? {}) as { index?: number }
    if (!(error instanceof HubError) || index === undefined || !(cause instanceof HubError)) throw error
    const { line } = lines[index]!
    output?.err.line(`Line ${line} is wrong, so nothing was enqueued.`)
    const task = error.task === undefined ? {} : { task: error.task }
    // What a person is told of each problem of the arguments would be lost among other data.
    throw new HubError(error.code, cause.message, { ...task, data: output ? cause.data : { line, ...rest }, cause })
  }
}

const heed = (interrupt: AbortSignal, sent: number, total: number): void => {
  if (interrupt.aborted)
    throw new HubError('Aborted', `${sent} of ${total} jobs were enqueued, those of the first lines.`)
}

/** @param before how many of earlier portions are enqueued */
const brokenOff = (error: unknown, before: number, total: number): unknown => {
  if (!(error instanceof HubError)) return error
  const { enqueued = 0 } = (error.data ?? {}) as { enqueued?: number }
  const sent = before + enqueued
  // Nothing arrived: the error says all there is to say.
  if (sent === 0) return error
  const why = error.cause instanceof HubError ? error.cause.message : error.message
  const told = `${sent} of ${total} jobs were enqueued (the first of each queue), then it failed: ${why}`
  return new HubError('OutcomeUnknown', told, { data: { enqueued: sent }, cause: error })
}
