import { ConfigError } from '../wire/errors.ts'

const unitMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * `500ms`, `2s`, `1.5m`, `1h`, `7d`, or a bare number of seconds; in whole milliseconds.
 * @throws ConfigError that names `what` it was for
 */
export const parseDuration = (text: string, what: string): number => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(text.trim())
  if (!match) {
    throw new ConfigError(
      `${what} must be a duration like 500ms, 2s, 1m, 1h or 1d (a bare number is seconds), not '${text}'.`,
    )
  }
  return Math.round(Number(match[1]) * unitMs[match[2] ?? 's']!)
}

/** Milliseconds as people read them, in at most two units: 500ms, 1.5s, 2m 5s, 3h 20m, 2d 4h. */
export const formatDuration = (ms: number): string => {
  if (!Number.isFinite(ms)) return '?'
  if (ms < 1000) return `${Math.round(ms)}ms`
  if (ms < 59_950) return `${Math.round(ms / 100) / 10}s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return twoUnits(Math.floor(seconds / 60), 'm', seconds % 60, 's')
  const minutes = Math.floor(seconds / 60)
  if (minutes < 24 * 60) return twoUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'm')
  const hours = Math.floor(minutes / 60)
  return twoUnits(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

const twoUnits = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`
