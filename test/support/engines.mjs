import semver from 'semver'

/**
 * An entry of `packages` in a lock file. `devOptional`: wanted by an optional peer or dependency only for those who develop.
 * @typedef {{ version?: string, dev?: boolean, devOptional?: boolean, link?: boolean, hasInstallScript?: boolean,
 *   engines?: { node?: string } }} LockedPackage
 */

/** The oldest supported Node. */
export const oldestNode = '20.19.0'

/**
 * Sentences about the packages that do not support the oldest Node.
 * @param {Record<string, LockedPackage>} packages
 * @returns {string[]}
 */
export const tooNew = packages =>
  Object.entries(packages)
    .filter(([, { engines }]) => engines?.node !== undefined && !semver.satisfies(oldestNode, engines.node))
    .map(([path, { version, engines }]) => `${path} ${version} wants Node ${engines.node}`)

/**
 * The packages that users install, without those for development.
 * @param {Record<string, LockedPackage>} packages
 * @returns {Record<string, LockedPackage>}
 */
export const ofProduction = packages =>
  Object.fromEntries(Object.entries(packages).filter(([, { dev, devOptional }]) => !dev && !devOptional))
