// `npm start`: sets up a fresh clone, then runs the demo. Plain Node up to the point where the packages are there.
import { prepare } from '../../tools/prepare.mjs'
import { helpText, readOptions } from './run/options.mjs'

const options = readOptions(process.argv.slice(2))
if (options.problem) {
  console.error(`${options.problem} See npm start -- --help.`)
  process.exit(2)
}
if (options.help) {
  console.log(helpText)
  process.exit(0)
}

const setUp = () => {
  try {
    prepare()
  } catch (error) {
    console.error(`The set-up failed: ${error.message}. What went wrong is said above.`)
    process.exit(1)
  }
}

setUp()
const { runDemo } = await import('./run/demo.mjs')
const code = await runDemo(options)
// The embedded Redis keeps timers of its own for a while after it was closed; nobody has to wait for those.
process.stdout.write('', () => process.exit(code))
