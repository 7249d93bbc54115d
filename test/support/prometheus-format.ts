/** One sample of Prometheus' text format. */
export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

export interface Exposition {
  types: Map<string, string>
  helps: Map<string, string>
  samples: Sample[]
}

const nameShape = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/

/**
 * Reads the text format 0.0.4 as strictly as its description allows, and throws at anything else: each family has its HELP,
 * then its TYPE, once and before its samples, which come in one group; no series twice; counters end in _total and are not
 * below 0; every line ends.
 */
export const parseExposition = (text: string): Exposition => {
  const exposition: Exposition = { types: new Map(), helps: new Map(), samples: [] }
  const seen = new Set<string>()
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line does not end')
  let family: string | undefined
  for (const line of text.split('\n').slice(0, -1)) {
    const comment = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line)
    if (comment) family = declare(exposition, comment[1]!, comment[2]!, comment[3]!, family)
    else {
      const sample = sampleOf(line)
      const type = exposition.types.get(family ?? '')
      const parts = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
      if (!type || !parts.some(part => sample.name === family + part)) throw new Error(`out of its group: ${line}`)
      const series = JSON.stringify([sample.name, Object.entries(sample.labels).sort()])
      if (seen.has(series)) throw new Error(`twice: ${line}`)
      seen.add(series)
      if (exposition.types.get(sample.name) === 'counter' && !(sample.value >= 0)) throw new Error(`below 0: ${line}`)
      exposition.samples.push(sample)
    }
  }
  return exposition
}

const declare = (
  { types, helps }: Exposition,
  what: string,
  name: string,
  rest: string,
  family: string | undefined,
): string => {
  if (!nameShape.test(name)) throw new Error(`not a name: ${name}`)
  if (what === 'HELP') {
    if (helps.has(name)) throw new Error(`a second group of ${name}`)
    if (/\\(?![\\n])/.test(rest)) throw new Error(`a stray backslash in the help of ${name}`)
    helps.set(name, rest)
    return name
  }
  if (name !== family || types.has(name)) throw new Error(`TYPE of ${name} is not behind its HELP`)
  if (!['counter', 'gauge', 'histogram'].includes(rest)) throw new Error(`no type: ${rest}`)
  if ((rest === 'counter') !== name.endsWith('_total')) throw new Error(`${name} is a ${rest}`)
  types.set(name, rest)
  return name
}

const sampleOf = (line: string): Sample => {
  const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} (\S+)$/.exec(line)
  if (!match) throw new Error(`not a sample: ${line}`)
  const [, name, inner, number] = match
  if (!/^(-?\d+(\.\d+)?(e[+-]?\d+)?|NaN|[+-]Inf)$/.test(number!)) throw new Error(`not a number: ${line}`)
  const labels: Record<string, string> = {}
  let rest = inner!
  while (rest !== '') {
    const label = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,(?=.)|$)/.exec(rest)
    if (!label) throw new Error(`not labels: ${line}`)
    const [all, key, value] = label
    if (Object.hasOwn(labels, key!) || key!.startsWith('__')) throw new Error(`label ${key}: ${line}`)
    labels[key!] = value!.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))
    rest = rest.slice(all.length)
  }
  return { name: name!, labels, value: Number(number) }
}
