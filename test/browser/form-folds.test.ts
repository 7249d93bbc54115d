import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { useFormPage } from './form-fixture.ts'
import { shownValue } from './form-look.ts'

const at = (page: Page, pointer: string) => page.locator(`[data-pointer="${pointer}"]`)
const toggle = (page: Page, pointer: string) => page.locator(`[data-fold="${pointer}"]`)
const field = (page: Page, pointer: string) => page.locator(`[data-field="${pointer}"]`)

const person = {
  type: 'object',
  properties: {
    token: { type: 'string', format: 'password' },
    name: { type: 'string', minLength: 2 },
    age: { type: 'integer' },
    home: {
      type: 'object',
      properties: { street: { type: 'string' }, floor: { type: 'integer' } },
      required: ['street'],
    },
  },
  required: ['name'],
}
const schema = { type: 'object', properties: { title: { type: 'string' }, people: { type: 'array', items: person } } }
const people = (count: number) => ({
  title: 'All',
  people: Array.from({ length: count }, (_, i) => ({
    token: `secret ${i}`,
    name: `Person ${i}`,
    age: i,
    home: { street: 'Main', floor: 1 },
  })),
})

describe('groups of a form', () => {
  const browser = useBrowser({ keepPages: true })
  const form = useFormPage()
  let shared: Page
  const open = async (stage: Parameters<typeof form.open>[1]): Promise<Page> => {
    shared ??= await browser.page()
    await form.open(shared, stage)
    return shared
  }

  it('are open in a small form, and fold by hand without losing what is typed', async () => {
    const page = await open({ schema, value: people(2) })
    expect(await page.locator('[data-folded]').count()).toBe(0)
    await at(page, '/people/0/age').fill('12 or so')
    await toggle(page, '/people/0').click()
    expect(await at(page, '/people/0/age').isVisible()).toBe(false)
    expect(await field(page, '/people/0').locator('.folded').first().textContent()).toMatch(
      /^Person 0, 4 fields.*1 problem/,
    )
    await toggle(page, '/people/0').click()
    expect(await at(page, '/people/0/age').inputValue()).toBe('12 or so')
    expect(await shownValue(page)).toEqual(people(2))
  })

  it('start folded in a large one, tell what is in them but no secret, and come back whole', async () => {
    const page = await open({ schema, value: people(40) })
    expect(await toggle(page, '/people/1').getAttribute('aria-expanded')).toBe('false')
    expect(await field(page, '/people/1').textContent()).toContain('Person 1, 4 fields')
    expect(await page.locator('.schema-form').textContent()).not.toContain('secret 1')
    await toggle(page, '/people/1').click()
    await toggle(page, '/people/1/home').click()
    await at(page, '/people/1/home/street').fill('Side')
    await page.locator('[data-tool="copy /people/1"]').click()
    const expected = people(40)
    expected.people[1]!.home.street = 'Side'
    expected.people.splice(2, 0, structuredClone(expected.people[1]!))
    expect(await shownValue(page)).toEqual(expected)
    // What somebody adds is open.
    while (await page.getByRole('button', { name: /^Show more of/ }).count())
      await page.getByRole('button', { name: /^Show more of/ }).click()
    await page.locator('[data-add="/people"]').click()
    expect(await at(page, '/people/41/name').isVisible()).toBe(true)
  })

  it('unfold for the place that somebody is led to', async () => {
    const value = people(60)
    value.people[50]!.home.floor = 'high' as never
    value.people[3]!.name = 'x'
    const page = await open({ schema, value })
    const lead = async (pointer: string, prefix: string) => {
      await page.locator('.problems button', { hasText: pointer }).click()
      await expect.poll(() => page.locator(':focus').getAttribute('data-pointer')).toBe(prefix)
    }
    await lead('/people/50/home/floor', '/people/50/home/floor')
    await lead('/people/3/name', '/people/3/name')
    expect(await toggle(page, '/people/4').getAttribute('aria-expanded')).toBe('false')
  })
})
