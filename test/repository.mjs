// Lint of what no other tool looks at: lock files, versions, engines, and the files in deploy/.
// `node test/repository.mjs` prints what is wrong and ends with 1.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../tools/prepare.mjs'
import { ofProduction, oldestNode, tooNew } from './support/engines.mjs'

const text = path => readFileSync(join(root, path), 'utf8')
const json = path => JSON.parse(text(path))
const offences = []
const check = (isRight, offence) => isRight || offences.push(offence)

/** The package that Node would load as `name` from `folder`: from its own node_modules, or from one further up. */
const found = (packages, folder, name) => {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const entry = packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`]
    if (entry?.link) return packages[entry.resolved]
    if (entry || at === '') return entry
  }
}

/** Lock files leave out optional peers. */
const neededBy = ({ peerDependenciesMeta, ...entry }) => [
  ...Object.keys({ ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies }),
  ...Object.keys(entry.peerDependencies ?? {}).filter(name => !peerDependenciesMeta?.[name]?.optional),
]

// Finds what `npm ci` would reject in a fresh clone, without asking a registry.
for (const folder of ['.', 'bench', 'tools/reference']) {
  const lock = join(folder, 'package-lock.json')
  const { packages } = json(lock)
  const { dependencies, devDependencies } = json(join(folder, 'package.json'))
  const stated = ({ dependencies, devDependencies }) => JSON.stringify([dependencies, devDependencies])
  check(stated(packages['']) === stated({ dependencies, devDependencies }), `${lock} is not that of its package.json`)
  for (const [path, entry] of Object.entries(packages)) {
    for (const name of neededBy(entry))
      check(found(packages, path, name)?.version, `${lock} has no version of ${name}, which ${path || folder} needs`)
    check(!entry.extraneous, `${lock}: nothing needs ${path}`)
    check(entry.resolved === undefined || entry.link, `${lock} names a registry for ${path}`)
  }
}

const [pshub, registry] = [json('package.json'), json('registry/package.json')]
const versions = {
  'registry/package.json': registry.version,
  'the peer pshub in registry/package.json': registry.peerDependencies.pshub,
  'package-lock.json': json('package-lock.json').version,
  'the Python package': /version\w* = ["'](.+)["']/i.exec(text('clients/python/src/pshub/wire/version.py'))?.[1],
  'the Ruby gem': /VERSION = ["'](.+)["']/.exec(text('clients/ruby/lib/pshub/wire/version.rb'))?.[1],
  'CHANGELOG.md': /^## (\S+)/m.exec(text('CHANGELOG.md'))?.[1],
}
for (const [place, version] of Object.entries(versions))
  check(version === pshub.version, `${place} has version ${version}; package.json has ${pshub.version}`)
check(registry.license === pshub.license, 'registry/package.json has another licence than package.json')
for (const folder of ['registry', 'clients/python'])
  check(text(join(folder, 'LICENSE')) === text('LICENSE'), `${folder}/LICENSE is not a copy of LICENSE`)

for (const file of ['package.json', 'registry/package.json'])
  check(json(file).engines.node === `>=${oldestNode.replace(/\.0$/, '')}`, `${file} must promise Node ${oldestNode}`)
const production = ofProduction(json('package-lock.json').packages)
check(production['node_modules/ioredis'], 'package-lock.json: ioredis does not count as installed by users')
offences.push(...tooNew(production))

const snake = name => name.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()
const settings = [...text('src/settings/table.ts').matchAll(/^ {2}(\w+):/gm)].map(([, name]) => snake(name))
const deployed = Object.fromEntries(
  readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.endsWith('.md'))
    .map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'utf8')]),
)
for (const [name, content] of Object.entries(deployed))
  for (const [, setting] of content.matchAll(/PSHUB_(?:REGISTRY_)?([A-Z_]+)/g))
    check(settings.includes(setting), `deploy/${name}: pshub has no setting ${setting}`)
// A container that is killed before the grace period ends loses the calls that still run.
const graceOf = content => Number(/--grace,? (\d+)s/.exec(content)?.[1])
const patience = { 'compose.yaml': /stop_grace_period: (\d+)s/, 'worker.yaml': /GracePeriodSeconds: (\d+)/ }
for (const [name, pattern] of Object.entries(patience))
  check(
    Number(pattern.exec(deployed[name])?.[1]) > graceOf(deployed[name]),
    `deploy/${name} waits no longer than its worker may take to stop`,
  )

for (const offence of offences) console.error(offence)
console.log(offences.length === 0 ? 'Lock files and versions are consistent' : `${offences.length} offences`)
process.exit(offences.length === 0 ? 0 : 1)
