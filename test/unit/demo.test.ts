import { HubError } from 'pshub'
import { describe, expect, it } from 'vitest'
import { cities } from '../../examples/demo/places/cities.mjs'
import * as places from '../../examples/demo/places/tasks.mjs'
import { readOptions } from '../../examples/demo/run/options.mjs'
import { textPage } from '../../examples/demo/run/text-page.mjs'
import * as sky from '../../examples/demo/sky/tasks.mjs'
import { cityPage } from '../../examples/demo/web/city-page.mjs'
import { html } from '../../examples/demo/web/html.mjs'
import { searchPage } from '../../examples/demo/web/other-pages.mjs'

const paris = 2988507
const tromso = 3133895

interface AnyTask {
  name: { full: string }
  checkArgs: ((value: unknown, size: number) => unknown[]) | undefined
  checkResult: ((value: unknown, size: number) => unknown[]) | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
  handler(args: any, context: any): any
}

const tasks = new Map((Object.values({ ...places, ...sky }) as AnyTask[]).map(task => [task.name.full, task]))

/** What a worker does with a task, without one: check, run, check. */
// biome-ignore lint/suspicious/noExplicitAny: results of any task
const run = async (name: string, args: unknown): Promise<any> => {
  const task = tasks.get(name)!
  expect(task.checkArgs!(args, 1000)).toEqual([])
  const context = { signal: new AbortController().signal, call: run }
  const result = await task.handler(args, context)
  expect(task.checkResult!(result, 1000)).toEqual([])
  return result
}

/** The moon worker is in Python; what it answers is tested with the demo itself. */
const moonTonight = {
  at: '2024-01-30T23:50:00Z',
  phase: 'waning moon',
  litPart: 0.83,
  ageDays: 19.5,
  nextNewMoon: '2024-02-09T22:59:25Z',
  nextFullMoon: '2024-02-24T12:30:00Z',
  litSide: 'left',
}

const partOf = (part: string, task: string) => (part === 'moon' ? moonTonight : run(task, { cityId: paris }))

const gathered = async (failing: Record<string, HubError> = {}) => {
  const calls: [string, string][] = [
    ['facts', 'city_facts:1.0'],
    ['time', 'local_time:1.0'],
    ['sun', 'sun_times:1.0'],
    ['moon', 'moon_tonight:1.0'],
    ['country', 'city_country:1.0'],
    ['neighbours', 'city_neighbours:1.0'],
  ]
  const parts: Record<string, unknown> = {}
  for (const [part, task] of calls) {
    const error = failing[part]
    parts[part] = error ? { ok: false, error, ms: 500 } : { ok: true, value: await partOf(part, task), ms: 3 }
  }
  const timings = calls.map(([part, task]) => ({ task, ms: 3, outcome: failing[part]?.code ?? 'ok' }))
  // biome-ignore lint/suspicious/noExplicitAny: the shape that gatherPage returns
  return { parts, timings, totalMs: 4 } as any
}

describe('the data set', () => {
  it('holds at least 100,000 places, each with a zone that Node knows', () => {
    expect(cities.length).toBeGreaterThanOrEqual(100_000)
    for (const timeZone of new Set(cities.map(city => city.timeZone))) {
      expect(() => new Intl.DateTimeFormat('en', { timeZone })).not.toThrow()
    }
  })
})

describe('the places tasks', () => {
  it('find the neighbours of Paris, nearest first', async () => {
    const { neighbours } = await run('city_neighbours:1.0', { cityId: paris, count: 3, minPopulation: 100_000 })
    expect(neighbours.map((each: { city: { name: string } }) => each.city.name)).toEqual([
      'Boulogne-Billancourt',
      'Argenteuil',
      'Saint-Quentin-en-Yvelines',
    ])
    expect(neighbours[0].km).toBeCloseTo(8.1, 0)
    expect(neighbours[0].direction).toBe('west')
  })

  it('agree with a search through all places', async () => {
    const { city } = await run('city_facts:1.0', { cityId: tromso })
    const { neighbours } = await run('city_neighbours:1.0', { cityId: tromso, count: 1 })
    const [radians, { cos, sin, acos }] = [Math.PI / 180, Math]
    const km = (other: typeof city) => {
      const [a, b] = [city.latitude * radians, other.latitude * radians]
      const turn = (other.longitude - city.longitude) * radians
      return 6371 * acos(Math.min(1, sin(a) * sin(b) + cos(a) * cos(b) * cos(turn)))
    }
    const others = cities.filter(other => other.id !== tromso && other.kind !== 'part of a city')
    const nearest = others.reduce((best, other) => (km(other) < km(best) ? other : best))
    expect(neighbours[0].city.id).toBe(nearest.id)
    expect(neighbours[0].km).toBeCloseTo(km(nearest), 0)
  })

  it.each([
    ['paris', 'Paris', 'FR'],
    ['SAO PAUL', 'São Paulo', 'BR'],
    ['Springfield, Illinois', 'Springfield', 'US'],
    ['münchen', 'Munich', 'DE'],
    ['東京', 'Tokyo', 'JP'],
  ])('find %s', async (query, name, country) => {
    const { cities: found } = await run('city_search:1.0', { query, limit: 1 })
    expect(found).toMatchObject([{ name, country }])
  })

  it('answer with nothing for what does not exist', async () => {
    expect(await run('city_facts:1.0', { cityId: 7 })).toEqual({ city: null })
    expect(await run('city_country:1.0', { cityId: 7 })).toEqual({ country: null })
    expect(await run('city_neighbours:1.0', { cityId: 7 })).toEqual({ neighbours: [] })
    expect(await run('city_search:1.0', { query: '...' })).toEqual({ matches: 0, cities: [] })
  })

  it('keep to their schemas for every city of a country, and in lists', async () => {
    for (const { id } of cities.filter(city => city.country === 'IS')) await run('city_country:1.0', { cityId: id })
    expect((await run('random_cities:1.0', { limit: 5 })).cities).toHaveLength(5)
    expect((await run('largest_cities:1.0', { limit: 3 })).cities[0].name).toBe('Shanghai')
    expect((await run('world_map:1.0', { cellDegrees: 10 })).cells.length).toBeGreaterThan(100)
  })
})

describe('the sky tasks', () => {
  it('know the sun over Paris at midsummer', async () => {
    const sun = await run('sun_times:1.0', { cityId: paris, date: '2026-06-21' })
    expect(sun).toMatchObject({ date: '2026-06-21', timeZone: 'Europe/Paris', state: 'rises and sets' })
    expect(sun.sunrise.local).toMatch(/^05:4[5-9]$/)
    expect(sun.sunset.local).toMatch(/^2[12]:(5[6-9]|00)$/)
    expect(Math.abs(sun.dayLengthMinutes - (16 * 60 + 11))).toBeLessThanOrEqual(3)
  })

  it('know that the sun does not set, or not rise, in Tromsø', async () => {
    const summer = await run('sun_times:1.0', { cityId: tromso, date: '2026-06-21' })
    expect(summer).toMatchObject({ state: 'polar day', sunrise: null, sunset: null, dayLengthMinutes: 1440 })
    const winter = await run('sun_times:1.0', { cityId: tromso, date: '2026-12-21' })
    expect(winter).toMatchObject({ state: 'polar night', sunrise: null, sunset: null, dayLengthMinutes: 0 })
  })

  it('say so when there is no such city', async () => {
    await expect(run('local_time:1.0', { cityId: 7 })).rejects.toThrow('There is no city with the id 7.')
  })

  it('take quarters of an hour from UTC as they are', async () => {
    expect(await run('local_time:1.0', { cityId: 1283240 })).toMatchObject({ utcOffset: '+05:45' })
  })
})

describe('the pages', () => {
  it('escape every value, in text and in attributes', () => {
    const evil = `"><script>alert('x')</script>&`
    expect(String(html`<p title="${evil}">${[evil, html`<b>${evil}</b>`]}${null}${false}</p>`)).toBe(
      '<p title="&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;">' +
        '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;' +
        '<b>&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;</b></p>',
    )
    const found = { ok: true, value: { matches: 0, cities: [] }, ms: 1 }
    // biome-ignore lint/suspicious/noExplicitAny: the shape that gatherPage returns
    expect(searchPage(evil, { parts: { found }, timings: [], totalMs: 1 } as any)).not.toContain('<script')
  })

  it('show all parts and the time of each task', async () => {
    const page = cityPage(paris, await gathered())
    expect(page).not.toContain('class="gap"')
    for (const text of [
      'Paris',
      '48.85° N, 2.35° E',
      'Europe/Paris',
      'Day length',
      'France',
      'Le Kremlin-Bicêtre',
      '24 Feb 2024, 12:30 UTC',
      '83 %, on the left',
    ]) {
      expect(page).toContain(text)
    }
    expect(page.match(/class="ms"/g)).toHaveLength(6)
  })

  it('leave a labelled gap for every part that is missing', async () => {
    const timeout = new HubError('Timeout')
    const alone = cityPage(paris, await gathered({ sun: timeout }))
    expect(alone).toContain('<p class="gap">sun times: not available right now (Timeout after 500 ms)</p>')
    expect(alone.match(/class="gap"/g)).toHaveLength(1)
    const noWorkers = new HubError('NoWorkers', 'None for <sun>.')
    const all = {
      facts: timeout,
      time: noWorkers,
      sun: noWorkers,
      moon: noWorkers,
      country: timeout,
      neighbours: timeout,
    }
    const empty = cityPage(paris, await gathered(all))
    expect(empty.match(/class="gap"/g)).toHaveLength(6)
    expect(empty).toContain('the moon tonight: not available right now (NoWorkers: None for &lt;sun&gt;.)')
    expect(empty).toContain('sun times: not available right now (NoWorkers: None for &lt;sun&gt;.)')
  })

  it('can be read on a terminal', async () => {
    const text = textPage(paris, await gathered({ country: new HubError('Timeout') }))
    expect(text).toMatch(/^Paris - Île-de-France, France - national capital\n=+\n/)
    expect(text).toContain('country: not available right now (Timeout after 500 ms)')
    expect(text).toMatch(/city_facts:1\.0 +3\.0 ms {2}ok/)
    expect(text).not.toMatch(/<|&\w+;/)
  })
})

describe('the command line of the demo', () => {
  it('is read strictly', () => {
    expect(readOptions([])).toEqual({ once: false, help: false, cityId: paris })
    expect(readOptions(['--once', '--city=5'])).toEqual({ once: true, help: false, cityId: 5 })
    for (const wrong of [['--onec'], ['-v'], ['now'], ['--once=yes'], ['--city'], ['--city', 'Rome']]) {
      expect(readOptions(wrong).problem).toBeTruthy()
    }
  })
})
