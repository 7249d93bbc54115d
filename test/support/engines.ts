import { createRequire } from 'node:module'

const { satisfies } = createRequire(import.meta.url)('semver') as { satisfies(version: string, range: string): boolean }

/** An entry of `packages` in a lock file. */
export interface LockedPackage {
  version?: string
  dev?: boolean
  /** Wanted by an optional peer or dependency only for those who develop. */
  devOptional?: boolean
  link?: boolean
  hasInstallScript?: boolean
  engines?: { node?: string }
}

/** The oldest Node that is promised. */
export const oldestNode = '20.19.0'

/** Packages that want another Node than the oldest that is promised, as sentences. */
export const tooNew = (packages: Record<string, LockedPackage>): string[] =>
  Object.entries(packages)
    .filter(([, { engines }]) => engines?.node !== undefined && !satisfies(oldestNode, engines.node))
    .map(([path, { version, engines }]) => `${path} ${version} wants Node ${engines!.node}`)

/** Those that users install: what is only there for development is left out. */
export const ofProduction = (packages: Record<string, LockedPackage>): Record<string, LockedPackage> =>
  Object.fromEntries(Object.entries(packages).filter(([, { dev, devOptional }]) => !dev && !devOptional))
