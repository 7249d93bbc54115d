import { expect } from 'vitest'
import { type Cli, main } from './cli-fixture.ts'
import { openTerminal, type Terminal } from './terminal.ts'

export const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l'

/** `pshub top` in a terminal of its own. */
export const openTop = (cli: Cli, env: Record<string, string> = {}, size: [number, number] = [100, 24]): Terminal =>
  openTerminal(...size, [process.execPath, main, 'top'], {
    PSHUB_REDIS: cli.url,
    PSHUB_NAMESPACE: cli.namespace,
    NO_COLOR: '1',
    ...env,
  })

export const expectRestored = ({ output }: Terminal) => {
  expect(output.startsWith(enter)).toBe(true)
  expect(output.endsWith(`${leave}\n[terminal as it was]\n`)).toBe(true)
  expect(output.split(enter)).toHaveLength(2)
  expect(output.split(leave)).toHaveLength(2)
}
