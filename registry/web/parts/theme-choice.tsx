import { type Theme, theme, themes } from '../looks/theme.ts'

const names: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' }

export const ThemeChoice = () => (
  <label class="theme">
    <span class="visually-hidden">Theme</span>
    <select class="small" value={theme.value} onChange={event => (theme.value = event.currentTarget.value as Theme)}>
      {themes.map(name => (
        <option key={name} value={name}>
          {names[name]}
        </option>
      ))}
    </select>
  </label>
)
