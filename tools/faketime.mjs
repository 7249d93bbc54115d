// libfaketime: a server under it has a clock that can be set. Found or installed, as the server itself.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages, mayInstallPackages } from './apt.mjs'

const libraries = ['/usr/lib', '/usr/local/lib', '/usr/lib64']

const foldersBeside = folder => {
  try {
    const inside = readdirSync(folder, { withFileTypes: true }).filter(entry => entry.isDirectory())
    return [folder, ...inside.map(({ name }) => join(folder, name))].map(path => join(path, 'faketime'))
  } catch {
    return []
  }
}

const isIn = folder => {
  try {
    return readdirSync(folder).includes('libfaketime.so.1')
  } catch {
    return false
  }
}

/** Path of the library, or undefined. */
export const findFaketime = () => {
  const folder = libraries.flatMap(foldersBeside).find(isIn)
  return folder && join(folder, 'libfaketime.so.1')
}

/** The same, installing Debian's package where that needs no answer from anybody. Throws with what to do instead. */
export const ensureFaketime = () => {
  if (process.platform !== 'linux') throw new Error('libfaketime is used on Linux only')
  if (!findFaketime() && mayInstallPackages()) installPackages('faketime')
  const found = findFaketime()
  if (found) return found
  throw new Error('libfaketime is not installed (apt-get install faketime)')
}

/**
 * The environment of a server whose clock is ahead by what `file` says, as in +20 (seconds). Its own malloc hangs when it starts
 * under libfaketime, hence that of libc; and its timers go by a clock that must not jump.
 */
export const fakeClock = file => ({
  LD_PRELOAD: `${ensureFaketime()} libc.so.6`,
  FAKETIME_TIMESTAMP_FILE: file,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
  // It reads the file this often, in seconds.
  FAKETIME_CACHE_DURATION: '1',
})
