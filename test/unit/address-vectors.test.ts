import { describe, expect, it } from 'vitest'
import { clientOptions, clusterOf, wrongTarget } from '../../src/redis/target.ts'
import { readUrl, shownUrl } from '../../src/redis/url.ts'
import { read } from '../support/protocol-document.ts'

/** The golden file of Redis addresses, held against the code that it describes. */
const { taken, refused } = JSON.parse(read('clients/vectors/addresses.json'))

const given = ['username', 'password', 'path', 'name', 'sentinelUsername', 'sentinelPassword'] as const

describe('addresses.json', () => {
  it('taken', () => {
    for (const { url, kind, hosts, tls, shown, ...parts } of taken) {
      expect(wrongTarget(url), url).toBeUndefined()
      expect(shownUrl(readUrl(url)), url).toBe(shown)
      const options = clientOptions(url, 'name')
      expect(
        Object.fromEntries(given.flatMap(name => (options[name] === undefined ? [] : [[name, options[name]]]))),
      ).toEqual(parts)
      expect(options.tls !== undefined, url).toBe(tls ?? false)
      const one = options.host === undefined ? [] : [options]
      const several = { one, sentinel: options.sentinels, cluster: clusterOf(url) }[kind as 'one']
      expect(
        several?.map(({ host, port }) => [host, port]),
        url,
      ).toEqual(hosts)
    }
  })

  it('refused', () => {
    for (const { url, told } of refused) {
      const wrong = wrongTarget(url)
      expect(wrong?.slice(0, told.length), url).toBe(told)
      // Whatever it was given, it may be a part of a password.
      expect(wrong, url).not.toMatch(/mar|ker/)
    }
  })
})
