// Writes the tables of PROTOCOL.md from the code, between `<!-- generated: name -->` and `<!-- end -->`. `npm run build` and `npm run docs`
// run it; `node tools/protocol.mjs` does, too, and prints how many words are written by hand.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from './prepare.mjs'

const document = join(root, 'PROTOCOL.md')
const read = path => readFileSync(join(root, path), 'utf8')

const cell = text => String(text).replaceAll(/\s+/g, ' ').trim().replaceAll('|', '\\|')
const row = cells => `|${cells.map(text => (cell(text) === '' ? ' ' : ` ${cell(text)} `)).join('|')}|`
const table = (head, rows) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')
const code = text => `\`${text}\``
const capital = text => text[0].toUpperCase() + text.slice(1)

/** The keys of src/wire/keys.ts with their comments, `TYPE: content. Kept: lifetime.` A function's parameters name the parts in angle brackets. */
export const documentedKeys = ({ makeKeys }) => {
  const text = read('src/wire/keys.ts')
  const all = { ...makeKeys('pshub').queue('<queue>'), ...makeKeys('pshub') }
  const comments = text.matchAll(
    /^ +\/\*\*\s+(?:\* )?(\w+):(.*?)\.\s+(?:\* )?Kept:(.*?)\.\s+\*\/\n +(\w+): (?:\((.*?)\) =>)?/gms,
  )
  const rows = [...comments].map(([, type, content, kept, name, parameters]) => {
    const places = (parameters ?? '').split(', ').map(each => `<${each.split(':')[0]}>`)
    const key = parameters === undefined ? all[name] : all[name](...places)
    return { name, key, type, content: content.replaceAll(/\n +\*/g, ''), kept: kept.replaceAll(/\n +\*/g, '') }
  })
  const missing = Object.keys(all).filter(
    name => !['namespace', 'queue', ...rows.map(each => each.name)].includes(name),
  )
  if (missing.length)
    throw new Error(`src/wire/keys.ts: no comment of the form 'TYPE: content. Kept: lifetime.' for ${missing}`)
  return rows
}

const keys = sources =>
  table(
    ['key', 'type', 'content', 'kept'],
    documentedKeys(sources).map(({ key, type, content, kept }) => [code(key), type, content, kept]),
  )

/** The contract of a function in Redis, from the header of its file. */
export const headerOf = operation => {
  const [title, body] = read(`src/queue/lua/${operation}.lua`).split(/^--\n/m)
  const fields = []
  for (const line of body.split('\n')) {
    const [, label, text] =
      /^-- (KEYS\[\d\]|ARGV\[\d+(?:\.\.)?\]|Returns|Used by|flags:| {2}\d+) +(.+)$/.exec(line) ?? []
    if (label) fields.push({ label: label.trim(), text })
    else if (/^-- {3}/.test(line)) fields.at(-1).text += ` ${line.slice(3).trim()}`
  }
  const found = pattern => fields.filter(({ label }) => pattern.test(label)).map(({ text }) => text)
  return {
    summary: title
      .replace(/^-- \w+: /, '')
      .replaceAll(/\n--/g, '')
      .trim(),
    usedBy: found(/^Used by/)[0].replace(/, ([\d. and]+)$/, ' ($1)'),
    // Redis refuses other functions before their first line.
    runsFull: found(/^flags/).some(flags => /allow-oom|no-writes/.test(flags)),
    keys: found(/^KEYS/).map(text => text.replace(/^\w+ +/, '')),
    args: fields.flatMap(({ label, text }) => (label.startsWith('ARGV') ? [{ place: label.slice(5, -1), text }] : [])),
    returns: found(/^Returns/)[0],
    elements: found(/^\d/),
  }
}

const functions = ({ operations, functionOf }) => {
  const headers = operations.map(operation => ({ name: code(functionOf(operation)), ...headerOf(operation) }))
  const index = table(
    ['function', 'used by', 'in a full Redis', 'purpose'],
    headers.map(({ name, usedBy, runsFull, summary }) => [
      name,
      usedBy,
      runsFull ? 'runs' : 'refused',
      capital(summary),
    ]),
  )
  const details = headers.map(({ name, keys, args, returns, elements }) =>
    table(
      [name, ''],
      [
        ...keys.map((key, at) => [`KEYS ${at + 1}`, code(key)]),
        ...args.map(({ place, text }) => [`ARGV ${place}`, text]),
        ['returns', returns],
        ...elements.map((text, at) => [`element ${at + 1}`, text]),
      ],
    ),
  )
  return [index, ...details].join('\n\n')
}

const errors = ({ errorTable }) =>
  table(
    ['code', 'ran', 'retryable', 'status', 'meaning'],
    Object.entries(errorTable).map(([name, { ran, retryable, status, meaning }]) => [
      code(name),
      ran,
      retryable ? 'yes' : 'no',
      status,
      meaning,
    ]),
  )

const numbers = () =>
  table(['number', 'value'], Object.entries(JSON.parse(read('clients/vectors/numbers.json')).numbers))

/** What each role adds to another one's rights: a table of a role's own has rows that differ from that one's alone. */
const baseOf = { jobs: 'hub', admin: 'view' }

const rights = sources => {
  const { roles, usesOf, rulesOf, makeKeys } = sources
  const wild = makeKeys('pshub')
  const shapes = new Map(documentedKeys(sources).map(({ key }) => [key.replaceAll(/<\w+>/g, '*'), key]))
  const rowsOf = role =>
    usesOf(role, wild, '*', '*').map(({ key, access, isGiven, commands }) => [
      key === undefined ? 'none' : code(shapes.get(key)),
      key === undefined ? '' : `${access}${isGiven ? ', FCALL' : ''}`,
      commands,
    ])
  const blocks = roles.map(role => {
    const base = new Map(baseOf[role] && rowsOf(baseOf[role]).map(each => [`${each[0]} ${each[1]}`, each[2]]))
    const own = rowsOf(role).flatMap(([key, access, commands]) => {
      const known = base.get(`${key} ${access}`)
      const added = known === undefined ? commands : commands.filter(command => !known.includes(command))
      return known === undefined || added.length ? [[key, access, added.length ? code(added.join(' ')) : '']] : []
    })
    const title = baseOf[role] ? `Role ${code(role)}: as ${code(baseOf[role])}, and` : `Role ${code(role)}:`
    return `${title}\n\n${table(['key', 'access', 'commands'], own)}`
  })
  const rules = roles.map(
    role => `ACL SETUSER pshub-${role} on >secret resetkeys resetchannels -@all ${rulesOf(role, wild)}`,
  )
  return [...blocks, `As access rules:\n\n\`\`\`\n${rules.join('\n')}\n\`\`\``].join('\n\n')
}

/** What types of TypeScript are in JSON. */
const kinds = {
  string: 'text',
  unknown: 'any',
  true: '`true`',
  boolean: 'boolean',
  number: 'integer',
  Backoff: 'text, integer or array',
}
const fractions = ['score', 'timeoutMs', 'busyShare']
const kindOf = (type, member) => {
  const bare = type.replace(/ \| undefined$/, '')
  if (fractions.includes(member)) return 'number'
  if (kinds[bare]) return kinds[bare]
  if (bare === 'Priority') return '`"high"`, `"low"`'
  if (/^'\w+'$/.test(bare)) return code(bare.replaceAll("'", '"'))
  if (/\[\]$/.test(bare)) return 'array'
  return ['ErrorCode', 'Keyed'].includes(bare) ? 'text' : /\| true$/.test(bare) ? 'any' : 'object'
}

/** The members of messages and records, from the comments of their types: by file, the interfaces and what their members are members of. */
const documentedTypes = {
  request: { 'src/wire/message.ts': { RequestFields: '' } },
  job: { 'src/wire/job-part.ts': { JobPart: '' } },
  reply: { 'src/wire/message.ts': { ReplyFields: '' }, 'src/wire/errors.ts': { WireError: 'error.' } },
  record: { 'src/jobs/job-record.ts': { RecordFields: '' } },
  card: { 'src/task/card.ts': { TaskCard: '' } },
  worker: { 'src/catalogue/cards.ts': { WorkerCard: '' } },
  stats: { 'src/catalogue/cards.ts': { WorkerStats: '' } },
  figures: { 'src/figures/task-stats.ts': { WorkerTasksJson: '', Counts: 'tasks.*.', TaskStatsJson: 'tasks.*.' } },
  unanswered: {
    'src/figures/unanswered.ts': { HubUnanswered: '', UnansweredTask: 'tasks[].', UnansweredCalls: 'tasks[].codes[].' },
  },
}

const fieldsOf = (path, name, prefix) => {
  const [, members] = new RegExp(`^export interface ${name} [^{]*\\{\\n([\\s\\S]*?)^\\}`, 'm').exec(read(path))
  const found = [
    ...members.matchAll(/^ {2}\/\*\*\s+(?:\* )?(.*?)\s+\*\/\n {2}'?([\w:<>/]+)'?\??: ([^\n]*)$|^ {2}(\w+)\??: /gms),
  ]
  return found.flatMap(([, comment, member, type, bare]) => {
    if (bare === 'exact') return []
    if (bare) throw new Error(`${path}: ${name}.${bare} needs a comment`)
    return [[code(prefix + member), kindOf(type, member), comment.replaceAll(/\n +\*/g, '').replace(/\.$/, '')]]
  })
}

const fields = kind => () =>
  table(
    ['member', 'type', 'meaning'],
    Object.entries(documentedTypes[kind]).flatMap(([path, interfaces]) =>
      Object.entries(interfaces).flatMap(([name, prefix]) => fieldsOf(path, name, prefix)),
    ),
  )

const schemas = ({ formats, checked }) => {
  const list = names => [...names].sort().map(code).join(', ')
  return `Formats: ${list(Object.keys(formats))}.\n\nKeywords: ${list(checked)}.`
}

/** What a file of vectors is about: the first sentence of its `about`. */
const vectors = () => {
  const files = readdirSync(join(root, 'clients/vectors')).filter(file => file.endsWith('.json'))
  const rows = files.sort().map(file => {
    const { about } = JSON.parse(read(`clients/vectors/${file}`))
    if (typeof about !== 'string') throw new Error(`clients/vectors/${file} needs an 'about'`)
    return [code(file), capital(/^.*?\.(?= |$)/s.exec(about)[0])]
  })
  return table(['file', 'cases'], rows)
}

const generators = {
  keys,
  errors,
  numbers,
  functions,
  rights,
  vectors,
  schemas,
  ...Object.fromEntries(Object.keys(documentedTypes).map(kind => [kind, fields(kind)])),
}
const block = /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g

/** The document as it must be, given the one that is there. `sources`: what the modules of `sourceModules` export. */
export const protocolText = (sources, text = readFileSync(document, 'utf8')) =>
  text.replaceAll(block, (_, begin, name, end) => `${begin}\n${generators[name](sources)}\n\n${end}`)

const wordsIn = text => text.split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word)).length

/** How many words of the document are written by hand, examples included; the bars of tables are no words. */
export const wordsByHand = (text = readFileSync(document, 'utf8')) => wordsIn(text.replaceAll(block, ''))

export const sourceModules = [
  'wire/keys',
  'wire/errors',
  'redis/rights',
  'redis/library',
  'task/schema-keywords',
  'task/formats',
]

/** Needs a build. */
export const writeProtocol = async () => {
  const sources = await Promise.all(
    sourceModules.map(name => import(new URL(`../dist/${name}.js`, import.meta.url).href)),
  )
  const [before, after] = [readFileSync(document, 'utf8'), protocolText(Object.assign({}, ...sources))]
  if (after !== before) writeFileSync(document, after)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await writeProtocol()
  const text = readFileSync(document, 'utf8')
  const byHand = wordsByHand(text)
  console.log(`PROTOCOL.md: ${byHand} words by hand, ${wordsIn(text) - byHand} generated`)
}
