// What a fresh clone needs before anything can run: the packages of the lock file and a current build.
// Plain Node and no packages, because it runs before there are any. Used by `npm start`, `npm test` and the bench.
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'

/** Runs a command in the project's folder; its output goes to this terminal. Throws when it fails. */
export const run = (command, args, options = {}) =>
  execFileSync(command, args, { cwd: root, stdio: 'inherit', ...options })

const changedAt = path => (existsSync(path) ? statSync(path).mtimeMs : 0)

const isMade = /[\\/](dist|node_modules)([\\/]|$)/

const newestIn = folder =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !isMade.test(entry.parentPath.slice(root.length)))
    .reduce((newest, entry) => Math.max(newest, changedAt(join(entry.parentPath, entry.name))), 0)

/** Installs the packages unless those of the present lock file are there already. */
export const install = () => {
  const installedAt = changedAt(join(root, 'node_modules/.package-lock.json'))
  if (installedAt >= changedAt(join(root, 'package-lock.json'))) return
  // Through a link it would empty the folder of another checkout.
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink())
    throw new Error(
      'node_modules is a link, and has other packages than package-lock.json: remove it, and run this again.',
    )
  console.error('Installing packages (once) ...')
  run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
}

/** Builds what is run, unless it is newer than every source, and all that belongs to it is there. */
export const build = () => {
  const builtAt = changedAt(join(root, 'dist/.built'))
  const files = ['package.json', 'tsconfig.build.json', 'tools/build.mjs', 'tools/embed.mjs']
  const sources = Math.max(
    newestIn('src'),
    newestIn('registry'),
    newestIn('clients/memory'),
    ...files.map(name => changedAt(join(root, name))),
  )
  if (builtAt > sources && existsSync(join(root, 'registry/dist/web/index.html'))) return
  run(process.execPath, ['tools/build.mjs'])
}

/** Refuses an old Node with a sentence instead of a syntax error further on. */
export const checkNode = () => {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  console.error(`pshub needs Node 20.19 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}

export const prepare = () => {
  checkNode()
  install()
  build()
}
