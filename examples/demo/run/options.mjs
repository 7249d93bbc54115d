// The demo's command line.
import { parseArgs } from 'node:util'

export const helpText = `The pshub demo: a web page put together from tasks that run in other processes.

  npm start                    start the demo and print its address; Ctrl-C stops it
  npm start -- --once          put one page together, print it as text, and leave
  npm start -- --help          this text

Options
  --once        exit code 0 when no part of the page is missing (but for the moon,
                which needs Python), 1 otherwise
  --city <id>   the city of --once, by its GeoNames id (default 2988507, Paris)

Environment
  PSHUB_REDIS   Redis to use, as in redis://127.0.0.1:6379 (default: the redis-server on the PATH,
                else one in JavaScript; both in memory)
  PORT          port of the web server (default: 3000, or the next that is free)
  HOST          address it listens on (default: 127.0.0.1, this machine only)
  PSHUB_REGISTRY_PORT  port of the registry (default: one that is free)`

const known = {
  once: { type: 'boolean' },
  city: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
}

const paris = '2988507'

/** @returns {{ once: boolean, help: boolean, cityId: number, problem?: string }} */
export const readOptions = args => {
  const { tokens } = parseArgs({ args, options: known, strict: false, tokens: true })
  const values = { city: paris }
  for (const { kind, name, rawName, value } of tokens) {
    if (kind === 'positional') return { problem: `The demo takes no argument, but '${value}' was given.` }
    if (kind !== 'option') continue
    if (!Object.hasOwn(known, name)) return { problem: `There is no option ${rawName}.` }
    if (known[name].type === 'boolean' && value !== undefined) return { problem: `${rawName} takes no value.` }
    values[name] = value ?? (known[name].type === 'boolean' ? true : '')
  }
  if (!/^\d{1,9}$/.test(values.city) || values.city === '0')
    return { problem: '--city needs a GeoNames id, as in --city 2950159.' }
  return { once: values.once === true, help: values.help === true, cityId: Number(values.city) }
}
