/** Where a StatsD daemon listens. */
export type StatsdAddress = { kind: 'udp' | 'tcp'; host: string; port: number } | { kind: 'unix'; path: string }

const network = /^(?:(udp|tcp):\/\/)?(?:\[([\da-fA-F:.]+)\]|([^\s:/[\]]+)):(\d{1,5})$/

/** `host:port`, `udp://host:port`, `tcp://host:port` or `unix:///path`; undefined for anything else. */
export const parseStatsdAddress = (text: string): StatsdAddress | undefined => {
  const path = /^unix:\/\/(\/\S+)$/.exec(text)?.[1]
  if (path !== undefined) return { kind: 'unix', path }
  const [, kind = 'udp', ip6, name, digits] = network.exec(text) ?? []
  const host = ip6 ?? name
  const port = Number(digits)
  if (host === undefined || port < 1 || port > 65_535) return undefined
  return { kind: kind as 'udp' | 'tcp', host, port }
}
