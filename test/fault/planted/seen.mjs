// Whether the planted bugs were all caught by the fault suite, by the model, and with the functions in Redis as they are now.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../tools/prepare.mjs'

const stamp = join(root, 'test/fault/planted/seen.json')

const filesIn = (folder, ending) =>
  readdirSync(join(root, folder), { recursive: true })
    .filter(name => ending.test(name) && !name.endsWith('seen.json'))
    .map(name => join(folder, name))

/** Of all that decides whether a bug is seen, but for the code that it is planted in. */
const digest = () => {
  const hash = createHash('sha256')
  const files = [...filesIn('test/fault', /\.mjs$/), ...filesIn('test/model', /\.ts$/), ...filesIn('src', /\.lua$/)]
  for (const file of files.sort()) hash.update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

export const isSeen = () => JSON.parse(readFileSync(stamp, 'utf8')).digest === digest()

/** All of them were caught: noted beside the code, so that nobody waits for them again until something changes. */
export const noteSeen = () => writeFileSync(stamp, `{ "digest": "${digest()}" }\n`)
