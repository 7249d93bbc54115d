// What tests want beside the project's own dependencies: fetched once, into test/artifacts.
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'

export const artifactFolder = (...names) => join(root, 'test/artifacts', ...names)

/**
 * Runs an installer in a folder of its own, which goes again when that fails.
 * @param what for people
 * @param tellingLine which line of an installer's errors says why: 0 the first, -1 the last
 */
export const installInto = (folder, what, [program, ...args], tellingLine) => {
  console.error(`Fetching ${what} (once) ...`)
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    const lines = String(error.stderr ?? error.message)
      .trim()
      .split('\n')
    throw new Error(lines.at(tellingLine))
  }
}

/**
 * What can be had here, and what cannot, with the reason. `find` returns the title and the path of one, or throws.
 * @returns {{ name: string, title?: string, path?: string, reason?: string }[]}
 */
export const whatCanBeHad = (wanted, find) =>
  wanted.map(each => {
    try {
      return { name: each.name, ...find(each) }
    } catch (error) {
      return { name: each.name, reason: error.message.split('\n')[0] }
    }
  })
