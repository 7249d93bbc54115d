import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { enterValues, useForms } from './form-entry.ts'
import { problemsOf } from './form-fixture.ts'
import { cssString, shownValue } from './form-look.ts'
import { schemaCases } from './form-schemas.ts'

const at = (page: Page, pointer: string) => page.locator(`[data-pointer=${cssString(pointer)}]`)
const wrongAt = (page: Page, pointer: string) => page.locator(`[data-field=${cssString(pointer)}] .wrong`).first()
const toggle = (page: Page, pointer: string) => page.locator(`[data-fold="${pointer}"]`)
const fieldAt = (page: Page, pointer: string) => page.locator(`[data-field="${pointer}"]`)
const focused = (page: Page) => page.locator(':focus')
const drawn = [
  'choice-nested',
  'enum-many',
  'hostile-pattern',
  'hostile-payloads',
  'object-map',
  'text-file',
  'text-secret',
]
const schemaOf = (file: string) => schemaCases.find(one => one.file === file)!.case.schema

const open = useForms(useBrowser({ keepPages: true }))

describe('the form in a browser', () => {
  // One schema for each control, and what only a browser can tell: scripts that stay texts, and a pattern that would run for ever.
  it.each(schemaCases.filter(({ file }) => drawn.includes(file)))('$file is entered through the form', one =>
    enterValues(open, one),
  )

  it('keeps the chosen kind and the focus while a value is typed that would fit another', async () => {
    const page = await open({ schema: schemaOf('choice-titles') })
    const kind = page.locator('[data-branch=""]')
    await kind.selectOption({ label: 'By name' })
    await at(page, '/name').click()
    await page.keyboard.type('42 is a number too')
    await expect.poll(() => kind.locator('option:checked').textContent()).toBe('By name')
    await expect.poll(() => focused(page).getAttribute('data-pointer')).toBe('/name')
    await expect.poll(() => shownValue(page)).toEqual({ name: '42 is a number too' })
  })

  it('keeps the data of each kind while another one is shown', async () => {
    const page = await open({ schema: schemaOf('choice-discriminator') })
    const kind = page.locator('[data-branch="/shape"]')
    await kind.selectOption({ label: 'circle' })
    await at(page, '/shape/radius').fill('3')
    await kind.selectOption({ label: 'box' })
    await at(page, '/shape/width').fill('4')
    await kind.selectOption({ label: 'circle' })
    await expect.poll(() => shownValue(page)).toEqual({ shape: { kind: 'circle', radius: 3 } })
    await kind.selectOption({ label: 'box' })
    await expect.poll(() => shownValue(page)).toEqual({ shape: { kind: 'box', width: 4 } })
  })

  it('tells absent, null and empty apart', async () => {
    const page = await open({ schema: schemaOf('text-empty-absent-null'), value: {} })
    const state = page.getByLabel('nick: given or not')
    await expect.poll(() => state.inputValue()).toBe('absent')
    await state.selectOption('given')
    await expect.poll(() => shownValue(page)).toEqual({ nick: '' })
    await state.selectOption('null')
    await expect.poll(() => shownValue(page)).toEqual({ nick: null })
    await state.selectOption('absent')
    await expect.poll(() => shownValue(page)).toEqual({})
  })

  it('moves the focus along when items are added, moved and removed by keyboard', async () => {
    const page = await open({ schema: { type: 'array', items: { type: 'string' } }, value: ['a', 'b'] })
    await page.getByRole('button', { name: 'Add an item' }).focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => focused(page).getAttribute('data-pointer')).toBe('/2')
    await page.keyboard.type('c')
    await page.getByRole('button', { name: 'Move up: Arguments 3' }).focus()
    await page.keyboard.press('Space')
    await expect.poll(() => shownValue(page)).toEqual(['a', 'c', 'b'])
    await expect.poll(() => focused(page).getAttribute('aria-label')).toBe('Move up: Arguments 2')
    await page.keyboard.press('Space')
    await expect.poll(() => shownValue(page)).toEqual(['c', 'a', 'b'])
    await expect.poll(() => focused(page).getAttribute('aria-label')).toBe('Move down: Arguments 1')
    await page.getByRole('button', { name: 'Copy: Arguments 1' }).click()
    await page.getByRole('button', { name: 'Remove: Arguments 4' }).click()
    await expect.poll(() => shownValue(page)).toEqual(['c', 'c', 'a'])
    await expect.poll(() => focused(page).getAttribute('aria-label')).toBe('Remove: Arguments 3')
  })

  it('keeps a half-typed number with its item', async () => {
    const page = await open({ schema: { type: 'array', items: { type: 'number' } }, value: [1, 2] })
    await at(page, '/0').fill('1e')
    await page.getByRole('button', { name: 'Move down: Arguments 1' }).click()
    await expect.poll(() => at(page, '/1').inputValue()).toBe('1e')
    await wrongAt(page, '/1').getByText('Is not a number').waitFor()
    await expect.poll(() => problemsOf(page).then(list => list.map(one => one.pointer))).toEqual(['/1'])
  })

  it('renames a key, and refuses one that is taken or not allowed', async () => {
    const page = await open({
      schema: { type: 'object', additionalProperties: { type: 'integer' } },
      value: { a: 1, ab: 2 },
    })
    const key = page.getByLabel('Key of a', { exact: true })
    const wrongKey = page.locator('.key', { has: key })
    await key.fill('ab')
    await wrongKey.getByText('ab already exists').waitFor()
    await page.keyboard.press('Tab')
    await expect.poll(() => shownValue(page)).toEqual({ a: 1, ab: 2 })
    await key.fill('__proto__')
    await wrongKey.getByText('a key named __proto__ is not allowed').waitFor()
    await key.fill('abc')
    await page.keyboard.press('Enter')
    await expect.poll(async () => JSON.stringify(await shownValue(page))).toBe('{"abc":1,"ab":2}')
  })

  it("shows somebody else's verdict at its field, linked for those who cannot see it", async () => {
    const verdict = [{ pointer: '/person/home/city', message: 'is not served' }]
    const page = await open({
      schema: schemaOf('object-nested'),
      value: { person: { name: 'Ada', home: { city: 'X' } } },
      verdict,
    })
    const described = (await at(page, '/person/home/city').getAttribute('aria-describedby')) ?? ''
    await expect.poll(() => page.locator(`[id=${cssString(described)}]`).textContent()).toBe('Is not served.')
    await page.getByLabel('city').waitFor()
  })

  it('leads from the list of problems to the field; required fields are not marked before they were visited', async () => {
    const page = await open({ schema: schemaOf('object-nested') })
    await expect.poll(() => problemsOf(page).then(list => list.map(one => one.pointer))).toContain('/person/home/city')
    await expect.poll(() => page.locator('.schema-form .wrong').count()).toBe(0)
    await page.getByRole('button', { name: '/person/home/city' }).click()
    await expect.poll(() => focused(page).getAttribute('data-pointer')).toBe('/person/home/city')
    await page.keyboard.press('Tab')
    await wrongAt(page, '/person/home/city').getByText('Is required.').waitFor()
  })

  it('shows a text as text: code and links to http addresses, and nothing else of it', async () => {
    const description = 'See `x<b>` at [here](https://example.org/) or [there](javascript:alert(1)). <b>bold</b>'
    const page = await open({ schema: { type: 'object', properties: { a: { type: 'string', description } } } })
    const about = page.locator('.about')
    await expect.poll(() => about.textContent()).toBe('See x<b> at here or [there](javascript:alert(1)). <b>bold</b>')
    await expect.poll(() => about.locator('a').getAttribute('href')).toBe('https://example.org/')
    await expect.poll(() => about.locator('a').count()).toBe(1)
    await expect.poll(() => about.locator('b').count()).toBe(0)
  })
})

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
const crew = { type: 'object', properties: { title: { type: 'string' }, people: { type: 'array', items: person } } }
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
  it('start folded in a large one, tell what is in them but no secret, and come back whole', async () => {
    const page = await open({ schema: crew, value: people(40) })
    await expect.poll(() => toggle(page, '/people/1').getAttribute('aria-expanded')).toBe('false')
    await expect.poll(() => fieldAt(page, '/people/1').textContent()).toContain('Person 1, 4 fields')
    await expect.poll(() => page.locator('.schema-form').textContent()).not.toContain('secret 1')
    await toggle(page, '/people/1').click()
    await toggle(page, '/people/1/home').click()
    await at(page, '/people/1/home/street').fill('Side')
    await page.locator('[data-tool="copy /people/1"]').click()
    const expected = people(40)
    expected.people[1]!.home.street = 'Side'
    expected.people.splice(2, 0, structuredClone(expected.people[1]!))
    await expect.poll(() => shownValue(page)).toEqual(expected)
    // What somebody adds is open.
    while (await page.getByRole('button', { name: /^Show more of/ }).count())
      await page.getByRole('button', { name: /^Show more of/ }).click()
    await page.locator('[data-add="/people"]').click()
    await expect.poll(() => at(page, '/people/41/name').isVisible()).toBe(true)
  })

  it('unfold for the place that somebody is led to', async () => {
    const value = people(60)
    value.people[50]!.home.floor = 'high' as never
    value.people[3]!.name = 'x'
    const page = await open({ schema: crew, value })
    const lead = async (pointer: string) => {
      await page.locator('.problems button', { hasText: pointer }).click()
      await expect.poll(() => page.locator(':focus').getAttribute('data-pointer')).toBe(pointer)
    }
    await lead('/people/50/home/floor')
    await lead('/people/3/name')
    await expect.poll(() => toggle(page, '/people/4').getAttribute('aria-expanded')).toBe('false')
  })
})
