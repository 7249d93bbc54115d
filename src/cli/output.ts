import { makePaint, type Paint } from '../outlets/colour.ts'
import type { Host } from './host.ts'
import { printableJson } from './printable.ts'

/** One of the two streams, with what a terminal at its end can do. */
export interface Sink {
  readonly isTerminal: boolean
  /** Characters per line; undefined where lines may be of any length. */
  readonly width: number | undefined
  readonly paint: Paint
  line(text?: string): void
}

/** Results go to `out`, everything said about them to `err`, so that a pipe carries results alone. */
export interface Output {
  readonly out: Sink
  readonly err: Sink
  /** A result for a program: one line of JSON. */
  json(value: unknown): void
  /** One of many results: resolves when `out` has taken it, to false when nobody reads that any more. */
  each(value: unknown): Promise<boolean>
}

const makeSink = (stream: Host['stdout'], env: Host['env']): Sink => ({
  isTerminal: stream.isTTY === true,
  width: stream.isTTY ? stream.columns || undefined : undefined,
  paint: makePaint(stream.isTTY === true, env),
  line: (text = '') => void stream.write(`${text}\n`),
})

export const makeOutput = ({ stdout, stderr, env }: Host): Output => {
  const out = makeSink(stdout, env)
  return {
    out,
    err: makeSink(stderr, env),
    json: value => out.line(printableJson(value, undefined, orNull)),
    each: value => new Promise(resolve => stdout.write(`${printableJson(value)}\n`, error => resolve(!error))),
  }
}

/** A field that has no value is null: a program that reads fields should find the same ones each time. */
const orNull = (_key: string, value: unknown): unknown => (value === undefined ? null : value)

/**
 * Who reads us may leave early, as `head` does: what is written after that is for nobody, which is no fault. What else becomes of it, as on a disk
 * that is full, is: the function that is returned says it.
 */
export const watchPipes = (): (() => string | undefined) => {
  let fault: string | undefined
  for (const [name, stream] of [
    ['stdout', process.stdout],
    ['stderr', process.stderr],
  ] as const) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') fault ??= `${name} could not be written: ${error.message}.`
    })
  }
  return () => fault
}
