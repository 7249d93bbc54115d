import { effect, signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'pshub-theme'

const stored = (): Theme => {
  try {
    return themes.find(theme => theme === localStorage.getItem(key)) ?? 'system'
  } catch {
    return 'system'
  }
}

export const theme = signal<Theme>(stored())

/** Keeps the page in the chosen theme; `system` leaves it to the browser. */
export const startTheme = (): void => {
  effect(() => {
    if (theme.value === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme.value
    try {
      localStorage.setItem(key, theme.value)
    } catch {
      // A browser that keeps nothing shows the system's theme next time.
    }
  })
}
