import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Settings } from '../settings/read.ts'
import { ConfigError } from '../wire/errors.ts'
import { version } from '../wire/version.ts'

/** The pages as they are served. */
export interface RunningService {
  url: string
  token: string | undefined
  code: string | undefined
  close(): Promise<void>
}

/** What is used of the package pshub-registry, which is built on this library, and not the other way round. */
interface Service {
  /** `notice` is asked with every reading. */
  startRegistry(settings: Partial<Settings> & { notice?: () => string | undefined }): Promise<RunningService>
  serveToolsOverStdio(settings: Partial<Settings>): Promise<{ ended: Promise<void>; close(): Promise<void> }>
}

const service = 'pshub-registry'

/**
 * The package pshub-registry as the project has it in which this was started, else the one beside pshub itself.
 *
 * @param what is in it, and is asked for
 * @throws ConfigError where it is not installed, or is of another version
 */
export const loadRegistryPackage = async (what: string, cwd: string): Promise<Service> => {
  for (const folder of [cwd, import.meta.dirname]) {
    const require = createRequire(join(folder, 'index.js'))
    const path = foundBy(require, service)
    if (path === undefined) continue
    const { version: other } = require(`${service}/package.json`) as { version: string }
    if (other !== version)
      throw new ConfigError(
        `${service} ${other} does not match pshub ${version}: install the same version of both: npm install pshub@${version} ${service}@${version}`,
      )
    return import(pathToFileURL(path).href)
  }
  throw new ConfigError(
    `${what} in the package ${service}, which is not installed. Install it and start again: npm install ${service}@${version}`,
  )
}

const foundBy = (require: NodeJS.Require, name: string): string | undefined => {
  try {
    return require.resolve(name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
