// Debian's packages, where they can be installed without a question to anybody.
import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Path of a program on the PATH, or undefined. */
export const onPath = name => {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  return undefined
}

export const mayInstallPackages = () => process.getuid?.() === 0 && onPath('apt-get') !== undefined

/** Says so, installs them, and throws when that fails. */
export const installPackages = (...packages) => {
  console.error(`Installing ${packages.join(', ')} (once) ...`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'], env }
  const install = () => execFileSync('apt-get', ['install', '-y', '-qq', ...packages], quiet)
  try {
    install()
  } catch {
    // The package lists may be missing or old.
    execFileSync('apt-get', ['update', '-qq'], quiet)
    install()
  }
}
