import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '../wire/errors.ts'

const isTypeScript = /\.[cm]?tsx?$/
/** Node 22.18 and newer run TypeScript as it is. */
const isBuiltIn = Boolean((process.features as { typescript?: unknown }).typescript)

/**
 * Makes this process import TypeScript: an older Node does so through tsx, if that is installed in `folder`.
 * @param name of the module that is about to be imported
 * @throws ConfigError when there is no tsx
 */
export const prepareTypeScript = async (name: string, folder: string): Promise<void> => {
  if (isBuiltIn || !isTypeScript.test(name)) return
  let tsx: string
  try {
    tsx = createRequire(join(folder, 'index.js')).resolve('tsx')
  } catch {
    const todo = 'Install tsx (npm install --save-dev tsx), use Node 22.18 or newer, or compile it.'
    throw new ConfigError(`${name} is TypeScript, which Node ${process.versions.node} cannot run. ${todo}`)
  }
  // Registers its hooks as it is imported, once for the process.
  await import(pathToFileURL(tsx).href)
}
