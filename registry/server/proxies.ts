import { BlockList, isIP } from 'node:net'

/** The proxies in front of the registry, by their addresses: what others say of where a request came from is not believed. */
export class Proxies {
  readonly #addresses = new BlockList()

  /** @param addresses of single ones, or of all that begin alike, as in 10.0.0.0/8 */
  constructor(addresses: readonly string[]) {
    for (const entry of addresses) {
      const [address, length] = entry.split('/') as [string, string?]
      const family = familyOf(address)
      if (length === undefined) this.#addresses.addAddress(address, family)
      else this.#addresses.addSubnet(address, Number(length), family)
    }
  }

  has(address: string | undefined): boolean {
    // What listens on IPv6 sees others so.
    const plain = address?.replace(/^::ffff:(?=[\d.]+$)/i, '') ?? ''
    return isIP(plain) !== 0 && this.#addresses.check(plain, familyOf(plain))
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')
