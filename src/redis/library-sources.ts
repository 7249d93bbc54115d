import { readFileSync } from 'node:fs'

/**
 * The text of a file in queue/lua, by its name. In the package a module with all of them stands in for this one (tools/embed.mjs):
 * files that lie beside the code get lost when that is bundled.
 */
export const luaSource = (name: string): string =>
  readFileSync(new URL(`../queue/lua/${name}.lua`, import.meta.url), 'utf8')
