import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { libraryText } from '../../src/redis/library.ts'
import { libraryCopies, memoryCopies, root } from '../../tools/prepare.mjs'
import { memoryText } from '../../tools/write-library.mjs'

/** The other languages' packages are installed from a clone without Node: what the build writes into them is in git. */
describe('the library of functions in the packages of other languages', () => {
  it('is in both of them', () => {
    expect(libraryCopies.map((file: string) => relative(root, file))).toEqual([
      'clients/python/src/pshub/redis/library.lua',
      'clients/ruby/lib/pshub/redis/library.lua',
    ])
  })

  it.each(libraryCopies.map((file: string) => [relative(root, file), file]))(
    '%s is what the build writes; else: npm run build, and commit it',
    (_, file) => expect(readFileSync(file, 'utf8') === libraryText()).toBe(true),
  )

  it.each(memoryCopies.map((file: string) => [relative(root, file), file]))(
    'has the Redis in memory of its tests in %s; else: npm run build, and commit it',
    (_, file) => expect(readFileSync(file, 'utf8') === memoryText()).toBe(true),
  )
})
