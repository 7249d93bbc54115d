import { createRequire } from 'node:module'

/**
 * Loads a package that is used where an application has it. `require`, because that needs no waiting. It is looked for beside this
 * code, and from the folder that the process was started in: code that was bundled may not know where it is, or lie elsewhere.
 * @throws what `require` throws, as seen from beside this code if that is known
 */
export const optionalPackage = (name: string): unknown => {
  const places = [import.meta.url, `${process.cwd()}/`].filter(place => place !== undefined)
  let first: unknown
  for (const place of places) {
    try {
      return createRequire(place)(name)
    } catch (error) {
      first ??= error
    }
  }
  throw first
}
