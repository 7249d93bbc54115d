/** Whole addresses of http and https only; undefined for one that begins otherwise, or has no beginning of its own. */
export const safeAddress = (href: string): string | undefined => {
  try {
    const { protocol, href: whole } = new URL(href)
    return protocol === 'http:' || protocol === 'https:' ? whole : undefined
  } catch {
    return undefined
  }
}
