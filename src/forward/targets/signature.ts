import { createHmac } from 'node:crypto'
import { ConfigError } from '../../wire/errors.ts'

const form = /^whsec_([A-Za-z0-9+/]+={0,2})$/
const leastBytes = 24
const mostBytes = 64

/**
 * The keys of secrets as Standard Webhooks has them: `whsec_` and 24 to 64 bytes as base64.
 * @throws ConfigError, which shows none of them
 */
export const signingKeys = (secrets: unknown): Buffer[] => {
  const given: unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  if (given.length === 0) throw new ConfigError('webhook: a list of secrets must not be empty; leave it out.')
  return given.map(secret => {
    const [, text] = (typeof secret === 'string' && form.exec(secret)) || []
    const key = Buffer.from(text ?? '', 'base64')
    if (key.length >= leastBytes && key.length <= mostBytes) return key
    throw new ConfigError(
      'webhook: a secret must be whsec_ and 24 to 64 bytes as base64; `echo whsec_$(openssl rand -base64 32)` makes one.',
    )
  })
}

/** The value of `webhook-signature`: one signature for each key, so that the other side may know either while they are changed. */
export const signatureOf = (keys: readonly Buffer[], id: string, seconds: number, body: string): string =>
  keys.map(key => `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`).join(' ')
