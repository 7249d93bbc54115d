import type { Sink } from '../../src/cli/output.ts'

/** What is written to a terminal of this width; undefined: to a pipe. */
export const linesOf = (width: number | undefined, write: (sink: Sink) => void): string[] => {
  const lines: string[] = []
  write({
    isTerminal: width !== undefined,
    width,
    paint: (_, text) => text,
    line: (text = '') => void lines.push(text),
  })
  return lines
}
