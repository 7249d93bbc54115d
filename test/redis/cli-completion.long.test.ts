import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { installPackages, mayInstallPackages, onPath } from '../../tools/apt.mjs'
import { main, useCli } from '../support/cli-fixture.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openTerminal } from '../support/terminal.ts'

const cli = useCli()
const { run } = cli

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are made of
const sequences = /\u001b(\[[?>=\d;]*[A-Za-z]|[()][A-Z0-9]|\][^\u0007]*\u0007|[=>])/g

/** As their users have them: the file that each reads when it starts, with the line that `pshub help completion` says. */
const shells = [
  {
    shell: 'bash',
    file: '.bashrc',
    lines: "PS1='ready> '\nbind 'set enable-bracketed-paste off'\nsource <(pshub completion bash)",
    args: ['-i'],
  },
  {
    shell: 'zsh',
    file: '.zshrc',
    lines: "PS1='ready> '\nautoload -Uz compinit && compinit -u\nsource <(pshub completion zsh)",
    args: ['-i'],
  },
  {
    shell: 'fish',
    file: '.config/fish/config.fish',
    lines:
      "set -g fish_greeting\nfunction fish_prompt; echo -n 'ready> '; end\nset -g fish_autosuggestion_enabled 0\npshub completion fish | source",
    args: ['-i'],
  },
]

describe.each(shells)('pshub completion $shell', ({ shell, file, lines, args }) => {
  it('completes commands, options and live tasks when Tab is pressed', { timeout: 180_000 }, async ({ skip }) => {
    try {
      if (!onPath(shell) && mayInstallPackages()) installPackages(shell)
    } catch (error) {
      return skip(`${shell} could not be installed: ${(error as Error).message}`)
    }
    if (!onPath(shell)) return skip(`there is no ${shell} here, and it may not be installed`)
    const help = await run(['help', 'completion'])
    expect(help.out).toContain(lines.split('\n').at(-1))
    await cli.worker()
    const bin = join(cli.folder, `bin-${shell}`)
    const home = join(cli.folder, `home-${shell}`)
    // Where the last one is not there, fish fills it at its first start, by a process that outlives it.
    const made = [bin, join(home, file, '..'), join(home, '.local/fish/generated_completions')]
    for (const folder of made) mkdirSync(folder, { recursive: true })
    writeFileSync(join(bin, 'pshub'), `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`)
    chmodSync(join(bin, 'pshub'), 0o755)
    writeFileSync(join(home, file), `${lines}\n`)
    const terminal = openTerminal(120, 40, [onPath(shell)!, ...args], {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home,
      XDG_CONFIG_HOME: join(home, '.config'),
      XDG_DATA_HOME: join(home, '.local'),
      PSHUB_REDIS: cli.url,
      PSHUB_NAMESPACE: cli.namespace,
    })
    // What it has written since; a shell redraws parts of its line, and says how in sequences.
    let from = 0
    const said = () => terminal.output.slice(from).replace(sequences, '')
    const sees = async (pattern: RegExp) =>
      eventually(() => pattern.test(said()), 60_000).catch(() => {
        throw new Error(`${shell} does not show ${pattern}: ${JSON.stringify(terminal.output.slice(-1500))}`)
      })
    await sees(/ready> /)
    const completes = async (typed: string, whole: string) => {
      from = terminal.output.length
      terminal.type(`${typed}\t`)
      await sees(new RegExp(whole.replace(/[.]/g, '\\$&')))
      // The line is emptied, by a key that waits where a shell has not read it yet; Ctrl-C would be lost.
      terminal.type('\u0015')
    }
    await completes('pshub sche', 'schedules')
    await completes('pshub call --timeo', '--timeout')
    await completes('pshub call ad', 'add:1.0')
    await completes('pshub call add:', '1.0')
    terminal.type('exit\r')
    await terminal.ended
  })
})
