import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Locator } from 'playwright-core'

/** What the form offers to operate: where it is written, below registry/web/form, and what finds it on a page. */
export const controlKinds: Record<string, { file: string; is: string }> = {
  'a line of text': { file: 'controls/text.tsx', is: 'input[type=text]:not(.number, [list], .with-picker > *)' },
  'lines of text': { file: 'controls/text.tsx', is: 'textarea:not(.json)' },
  'a secret': { file: 'controls/text.tsx', is: 'input[type=password]' },
  'a date': { file: 'controls/text.tsx', is: '.with-picker > :has(+ [type=date])' },
  'a time': { file: 'controls/text.tsx', is: '.with-picker > :has(+ [type=time])' },
  'a date and time': { file: 'controls/text.tsx', is: '.with-picker > :has(+ [type=datetime-local])' },
  'a number': { file: 'controls/number.tsx', is: 'input.number' },
  'a file': { file: 'controls/file.tsx', is: 'input[type=file]' },
  'a few values': { file: 'controls/options.tsx', is: 'input[type=radio]' },
  'a list of values': { file: 'controls/options.tsx', is: 'select[data-pointer]' },
  'a search for values': { file: 'controls/options.tsx', is: 'input[list]' },
  'any JSON': { file: 'controls/json.tsx', is: 'textarea.json' },
  'another item': { file: 'controls/array.tsx', is: '[data-add]' },
  'one item less': { file: 'controls/item-tools.tsx', is: '[data-tool]' },
  'a new key': { file: 'controls/new-entry.tsx', is: '[data-add-key]' },
  'more keys': { file: 'controls/new-entry.tsx', is: '[data-more-keys]' },
  'one of several kinds': { file: 'controls/choice.tsx', is: '[data-branch]' },
  'the only value': { file: 'control.tsx', is: '[data-give]' },
  'given or not': { file: 'field-state.tsx', is: '[data-state]' },
}

/** Of what a person operates there; more than one kind where the table is wrong. */
export const kindsOf = (locator: Locator): Promise<string[]> =>
  locator.evaluate(
    (found: { matches(selector: string): boolean }, kinds) =>
      Object.keys(kinds).filter(kind => found.matches(kinds[kind]!.is)),
    controlKinds,
  )

const form = resolve(import.meta.dirname, '../../registry/web/form')

/** Below registry/web/form, what draws something to operate. */
export const drawsToOperate = (): string[] =>
  readdirSync(form, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.tsx'))
    .filter(name => /<(input|select|textarea|button)\b/.test(readFileSync(resolve(form, name), 'utf8')))
    .sort()

/** Buttons and fields that give no value: they rename, remove, fill in, show more or lead elsewhere. */
export const drivenElsewhere = [
  'controls/key-input.tsx',
  'controls/map-entries.tsx',
  'controls/object.tsx',
  'examples.tsx',
  'fold.tsx',
  'summary.tsx',
]
