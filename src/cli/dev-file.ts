import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Settings } from '../settings/read.ts'
import { isNamespace } from '../wire/keys.ts'

/** Where `pshub dev` says which Redis it has, for other commands that are started in its folder. */
export const devFile = '.pshub-dev.json'
/** Apart from what others may serve. */
export const devNamespace = 'pshub-dev'
const host = '127.0.0.1'

export const devUrl = (port: number): string => `redis://${host}:${port}`

/** Returns what takes it away again, unless another `pshub dev` of this folder has written its own meanwhile. Throws what the system says. */
export const writeDevFile = (folder: string, url: string, namespace: string): (() => void) => {
  const path = join(folder, devFile)
  const port = Number(new URL(url).port)
  const text = `${JSON.stringify({ port, namespace, pid: process.pid })}\n`
  writeFileSync(path, text)
  return () => {
    try {
      if (readFileSync(path, 'utf8') === text) rmSync(path)
    } catch {
      // Somebody took it away.
    }
  }
}

/**
 * What takes the place of defaults for a command that is started in this folder: nothing, unless a `pshub dev` runs there. The file may be
 * anybody's, as in a clone, and can name nothing but a port of this machine.
 */
export const devDefaults = (folder: string): Partial<Settings> => {
  try {
    const { port, namespace, pid } = JSON.parse(readFileSync(join(folder, devFile), 'utf8'))
    if (!Number.isInteger(port) || port < 1 || port > 65_535 || !Number.isInteger(pid) || pid < 1) return {}
    // One that was killed has left it there.
    process.kill(pid, 0)
    return { redis: devUrl(port), namespace: isNamespace(namespace) ? namespace : devNamespace }
  } catch {
    return {}
  }
}
