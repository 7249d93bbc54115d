/**
 * Loads a package when it is wanted, if it is there. Bundlers see nothing of it: what works without the package, or not inside of a
 * bundle, must not depend on them. It is looked for beside this code, and from the folder that the process was started in:
 * code that was bundled may not know where it is, or lie elsewhere.
 *
 * @throws what `require` throws
 */
export const latePackage = (name: string): unknown => {
  const { createRequire } = process.getBuiltinModule('node:module')
  const places = [import.meta.url, `${process.cwd()}/`].filter(place => place !== undefined)
  let first: unknown
  for (const place of places) {
    try {
      return createRequire(place)(name)
    } catch (error) {
      // One that is there and cannot be loaded is told as what it is.
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error
      first ??= error
    }
  }
  throw first
}
