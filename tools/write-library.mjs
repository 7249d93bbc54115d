// The library of Redis Functions as one file, into the packages of other languages.
import { writeFileSync } from 'node:fs'
import { libraryCopies } from './prepare.mjs'

export const writeLibrary = async () => {
  const { libraryText } = await import(new URL('../dist/redis/library.js', import.meta.url))
  for (const file of libraryCopies) writeFileSync(file, libraryText())
}
