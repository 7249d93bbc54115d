import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { root } from './cli-fixture.ts'
import { eventually } from './hub-fixture.ts'

const home = '\u001b[H'

/** A program in a terminal of its own (python3 makes it), with somebody who looks at it and types. */
export interface Terminal {
  /** Everything that was written so far. */
  readonly output: string
  /** How often it was redrawn from the top. */
  readonly frames: number
  /** The lines of the last full drawing, without what is not shown. */
  readonly screen: string[]
  /** Resolves with the screen's text as soon as it matches. */
  shows(pattern: RegExp, ms?: number): Promise<string>
  type(keys: string): void
  resize(columns: number, rows: number): void
  signal(number: number): void
  /** Its exit code. */
  readonly ended: Promise<number | null>
}

export const openTerminal = (
  columns: number,
  rows: number,
  program: string[],
  env: Record<string, string>,
): Terminal => {
  const script = join(root, 'test/support/in-terminal.py')
  const child = spawn('python3', [script, String(columns), String(rows), ...program], {
    env: { PATH: process.env.PATH, TERM: 'xterm-256color', ...env },
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => (output += text))
  child.stderr.on('data', text => (output += text))
  child.stdin.on('error', () => undefined)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', () => reject(new Error('This test needs python3, which makes it a terminal.')))
    child.once('close', resolve)
  })
  ended.catch(() => undefined)
  onTestFinished(async () => {
    // The program's own terminal goes with it, and it with that.
    child.kill('SIGKILL')
    await ended
  })
  const tell = (command: object) => void child.stdin.write(`${JSON.stringify(command)}\n`)
  const terminal: Terminal = {
    get output() {
      return output
    },
    get frames() {
      return output.split(home).length - 1
    },
    get screen() {
      // The last one may be under way.
      const drawings = output.split(home).filter(text => text.includes('\u001b[J'))
      return plain(drawings.at(-1)?.split('\u001b[J')[0] ?? '').split(/\r*\n/)
    },
    async shows(pattern, ms = 60_000) {
      const seen = () => terminal.screen.join('\n')
      await eventually(() => pattern.test(seen()), ms).catch(() => {
        throw new Error(
          `${pattern} is not on the screen:\n${seen()}\nall of it: ${JSON.stringify(output.slice(-2000))}`,
        )
      })
      return seen()
    },
    type: keys => tell({ keys }),
    resize: (width, height) => tell({ size: [width, height] }),
    signal: number => tell({ signal: number }),
    ended,
  }
  return terminal
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are made of
const plain = (text: string): string => text.replace(/\u001b\[[?\d;]*[A-Za-z]/g, '')
