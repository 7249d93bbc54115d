#!/usr/bin/env node
import { exitCodes } from './exit-codes.ts'
import { watchPipes } from './output.ts'
import { runCommand } from './run-command.ts'

const faultOfPipes = watchPipes()
const { argv, env, stdout, stderr } = process
const code = await runCommand(argv.slice(2), {
  env,
  cwd: process.cwd(),
  // Made when it is first used: most commands read nothing.
  get stdin() {
    return process.stdin
  },
  stdout,
  stderr,
})
// Tasks may have left timers and sockets behind. What was written goes out first; on some systems pipes take a moment.
stdout.write('', async () => {
  // A stream tells of what it could not write behind this.
  await new Promise(setImmediate)
  const fault = faultOfPipes()
  stderr.write(fault === undefined ? '' : `${fault}\n`, () =>
    process.exit(fault === undefined ? code : code || exitCodes.failed),
  )
})
