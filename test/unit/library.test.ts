import { expect, it } from 'vitest'
import { libraryParts } from '../../src/redis/library.ts'

it('queue/lua/parts.json lists the parts of the library, for clients in other languages', async () => {
  const list = `${JSON.stringify(libraryParts(), null, 2)}\n`
  const file = '../../src/queue/lua/parts.json'
  await expect(list, 'write it with: npx vitest run -u test/unit/library.test.ts').toMatchFileSnapshot(file)
})
