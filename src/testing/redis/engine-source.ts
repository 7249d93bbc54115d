import { readFileSync } from 'node:fs'

/**
 * The Redis in memory, in Lua: one text for the test kits of all languages, made of the parts in clients/memory. In the package a module with
 * that text stands in for this one (tools/embed.mjs).
 */
export const engineText = (): string => {
  const read = (name: string) => readFileSync(new URL(`../../../clients/memory/${name}`, import.meta.url), 'utf8')
  const parts: string[] = JSON.parse(read('parts.json'))
  return parts.map(part => (part.endsWith('.lua') ? read(part) : part)).join('')
}
