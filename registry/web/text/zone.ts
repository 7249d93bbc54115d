import { signal } from '@preact/signals'

export const zones = ['local', 'UTC'] as const
export type Zone = (typeof zones)[number]

const own = Intl.DateTimeFormat().resolvedOptions().timeZone || 'local time'

/** In which zone times are shown and picked. */
export const zone = signal<Zone>('local')

/** How the zone is called that times are shown in, or another one. */
export const zoneName = (of: Zone = zone.value): string => (of === 'UTC' ? 'UTC' : own)

/** A date whose UTC parts are those of the chosen zone. */
export const inZone = (atMs: number): Date =>
  new Date(zone.value === 'UTC' ? atMs : atMs - new Date(atMs).getTimezoneOffset() * 60_000)

/** The moment that a text without a zone, such as 2026-01-31T13:45, means in the chosen zone; NaN: none. */
export const momentOf = (text: string): number => new Date(zone.value === 'UTC' ? `${text}Z` : text).getTime()
