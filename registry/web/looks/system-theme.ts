import { signal } from '@preact/signals'

const dark = matchMedia('(prefers-color-scheme: dark)')

/** What the browser's own theme is now: drawings on a canvas do not follow the style sheet by themselves. */
export const isSystemDark = signal(dark.matches)
dark.addEventListener('change', () => {
  isSystemDark.value = dark.matches
})
