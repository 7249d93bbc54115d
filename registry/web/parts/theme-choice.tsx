import { type Theme, theme, themes } from '../theme.ts'

export const ThemeChoice = () => (
  <label class="theme">
    <span class="quiet">Theme</span>
    <select value={theme.value} onChange={event => (theme.value = event.currentTarget.value as Theme)}>
      {themes.map(name => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  </label>
)
