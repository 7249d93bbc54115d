import { randomBytes } from 'node:crypto'

/**
 * Request, hub and worker ids: 22 characters of base64url, 132 random bits (ASVS 11.5.1 asks for 128).
 * None begins with a dash, which a command line takes for an option.
 * Drawn from a block that is encoded once, because one call to the generator per id costs more than the rest of a push.
 */
const idLength = 22
const charsPerId = 24
const idsPerBlock = 128
let block = ''
let next = 0

export const newId = (): string => {
  if (next >= block.length) {
    block = randomBytes((idsPerBlock * charsPerId * 3) / 4).toString('base64url')
    next = 0
  }
  const id = block.slice(next, next + idLength)
  next += charsPerId
  return id[0] === '-' ? `A${id.slice(1)}` : id
}
