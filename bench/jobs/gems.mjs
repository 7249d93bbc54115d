// Ruby's peers: found, or installed into the benchmark's own folder.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { onPath } from '../../tools/apt.mjs'

const folder = join(import.meta.dirname, 'gems')
/** The last ones that run on the Ruby of present distributions. */
const versions = { sidekiq: '~> 7.3', lowkiq: '>= 1.1' }

/** What a process that uses them needs in its environment. */
export const gemEnvironment = () => ({
  ...process.env,
  GEM_PATH: `${[folder, process.env.GEM_PATH, ''].filter(Boolean).join(':')}:${defaultPath()}`,
})

let found
const defaultPath = () => (found ??= ruby('print Gem.default_path.join(":")', process.env))

const ruby = (code, env) =>
  execFileSync('ruby', ['-e', code], { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] })

const versionOf = name => {
  try {
    return ruby(`gem '${name}'; print Gem.loaded_specs['${name}'].version`, gemEnvironment())
  } catch {
    return undefined
  }
}

/** The version of a gem that is here now, or a sentence that says why there is none. */
export const ensureGem = name => {
  if (!onPath('ruby') || !onPath('gem')) return { missing: 'there is no Ruby on the PATH' }
  const present = versionOf(name)
  if (present) return { version: present }
  console.error(`Installing ${name} (once) ...`)
  try {
    const args = ['install', '--no-document', '--install-dir', folder, name, '--version', versions[name]]
    execFileSync('gem', args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    const [reason] = String(error.stderr).match(/Unable to download[^(]*\([^)]*\)|ERROR:.*/) ?? ['']
    return { missing: `gem install ${name} failed: ${reason.trim()}` }
  }
  return { version: versionOf(name) }
}

/** Where the command of a gem is. */
export const commandOf = name => ruby(`print Gem.bin_path('${name}', '${name}')`, gemEnvironment())
