import { execFileSync } from 'node:child_process'
import { root } from '../../tools/prepare.mjs'
import { median } from '../kit/numbers.mjs'

export const name = 'import'
export const title =
  'What it takes to import the library, beside the packages that it is made with, above an empty process'

const modules = {
  'an empty process': '',
  ioredis: "import 'ioredis'",
  ajv: "import 'ajv/dist/2020.js'",
  pino: "import 'pino'",
  croner: "import 'croner'",
  'these four': "import 'ioredis'; import 'ajv/dist/2020.js'; import 'pino'; import 'croner'",
  pshub: "import './dist/index.js'",
}

/** As long as an import is fast, the least is what it takes; all else is what others took of the machine. */
const atLeastRounds = 9

const once = text => {
  const program = `const from = performance.now(); const cpu = process.cpuUsage()
    ${text === '' ? '' : `await Promise.all([${text.replace(/import ('[^']*');?/g, 'import($1),')}])`}
    const { user, system } = process.cpuUsage(cpu)
    process.stdout.write(JSON.stringify({ ms: performance.now() - from, cpuMs: (user + system) / 1000 }))`
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: root }))
}

export const run = async ({ rounds }) => {
  const samples = []
  for (let round = 0; round < Math.max(rounds, atLeastRounds); round++)
    for (const [what, text] of Object.entries(modules)) samples.push({ what, ...once(text) })
  const rows = Object.keys(modules).map(what => {
    const own = samples.filter(sample => sample.what === what)
    return {
      what,
      ms: median(own.map(({ ms }) => ms)).toFixed(0),
      'processor ms': median(own.map(({ cpuMs }) => cpuMs)).toFixed(0),
    }
  })
  return { rows, samples }
}
