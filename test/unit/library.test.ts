import { expect, it } from 'vitest'
import { libraryParts } from '../../src/redis/library.ts'
import { read } from '../support/protocol-document.ts'

it('queue/lua/parts.json lists the parts of the library, for clients in other languages', () => {
  const list = JSON.parse(read('src/queue/lua/parts.json'))
  expect(list, 'out of date: run `npm run build`').toEqual(libraryParts())
})
