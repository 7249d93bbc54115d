import { isPaused } from '../live/stream.ts'
import { theme } from '../looks/theme.ts'
import type { Action } from '../palette/entries.ts'
import { zone } from '../text/zone.ts'
import { areSingleKeysOn, isHelpOpen, switchSingleKeys } from './keyboard.ts'
import { leave } from './who.tsx'

/** What can be done from every page, for the palette: what is so already is left out. */
export const frameActions = (): Action[] => [
  isPaused.value
    ? { text: 'Resume page', act: () => (isPaused.value = false) }
    : { text: 'Freeze page', act: () => (isPaused.value = true) },
  ...(['system', 'light', 'dark'] as const)
    .filter(each => each !== theme.value)
    .map(each => ({ text: `Theme: ${each}`, act: () => (theme.value = each) })),
  zone.value === 'UTC'
    ? { text: 'Clock: local time zone', act: () => (zone.value = 'local') }
    : { text: 'Clock: time zone UTC', act: () => (zone.value = 'UTC') },
  {
    text: areSingleKeysOn.value ? 'Turn off single-key shortcuts' : 'Turn on single-key shortcuts',
    act: () => switchSingleKeys(!areSingleKeysOn.value),
  },
  { text: 'Help: all shortcuts', act: () => (isHelpOpen.value = true) },
  { text: 'Log out', act: () => void leave() },
]
