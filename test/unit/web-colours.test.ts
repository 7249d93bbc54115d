import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { environmentColours } from '../../src/settings/environment.ts'

const sheet = readFileSync(resolve(import.meta.dirname, '../../registry/web/looks/ground.css'), 'utf8')
const colours = Object.fromEntries(
  [...sheet.matchAll(/--([\w-]+): light-dark\((#[\da-f]{6}), (#[\da-f]{6})\)/g)].map(([, name, light, dark]) => [
    name!,
    { light: light!, dark: dark! },
  ]),
)

/** WCAG 2.2, relative luminance. */
const luminance = (hex: string): number => {
  const [r, g, b] = [1, 3, 5].map(at => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

const contrast = (a: string, b: string): number => {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

const pairs = (names: string[], grounds: string[], least: number) =>
  names.flatMap(name =>
    grounds.flatMap(ground => (['light', 'dark'] as const).map(theme => ({ name, ground, theme, least }))),
  )

// WCAG 2.2 AA: text 4.5 (1.4.3), what is needed to see a control or a chart 3 (1.4.11).
describe('colours of the pages', () => {
  it.each([
    ...pairs(['text', 'quiet', 'accent', 'good', 'warn', 'bad'], ['ground', 'paper', 'sunk'], 4.5),
    ...pairs(['good'], ['good-soft'], 4.5),
    ...pairs(['warn', 'text'], ['warn-soft'], 4.5),
    ...pairs(['bad', 'text', 'quiet', 'accent'], ['bad-soft'], 4.5),
    ...pairs(['on-accent'], ['accent'], 4.5),
    ...pairs(
      ['on-environment'],
      environmentColours.map(colour => `environment-${colour}`),
      4.5,
    ),
    ...pairs(['edge', 'chart-a', 'chart-b', 'chart-c'], ['ground', 'paper', 'sunk'], 3),
  ])('$theme: $name on $ground', ({ name, ground, theme, least }) => {
    expect(contrast(colours[name]![theme], colours[ground]![theme])).toBeGreaterThanOrEqual(least)
  })
})
