/** Microseconds as people read them. */
export const duration = (us: number): string => {
  if (us < 1000) return `${Math.round(us)} µs`
  if (us < 10_000) return `${(us / 1000).toFixed(2)} ms`
  if (us < 1_000_000) return `${(us / 1000).toFixed(us < 100_000 ? 1 : 0)} ms`
  return `${(us / 1_000_000).toFixed(2)} s`
}

export const bytes = (count: number): string => {
  if (count < 1000) return `${count} bytes`
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1_000_000).toFixed(1)} MB`
}

export const byteLength = (text: string): number => new TextEncoder().encode(text).length
