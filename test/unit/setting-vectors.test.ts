import { describe, expect, it } from 'vitest'
import { readSettings, type Settings, settingsTable, variableOf } from '../../src/settings/read.ts'
import { read } from '../support/protocol-document.ts'

/** The golden file of settings, held against the code that it describes. */
const { taken, refused } = JSON.parse(read('clients/vectors/settings.json'))

const names = Object.keys(settingsTable) as (keyof Settings)[]

const readIn = (variable: string, text: string): unknown => {
  const name = names.find(each => variableOf(each) === variable)!
  const [user] = settingsTable[name].users
  return readSettings(user!, { env: { [variable]: text } })[name]
}

describe('settings.json', () => {
  it('taken', () => {
    for (const { variable, text, value } of taken) expect(readIn(variable, text), variable).toEqual(value)
  })

  it('refused', () => {
    for (const { variable, text, told } of refused)
      expect(() => readIn(variable, text)).toThrow(expect.objectContaining({ name: 'ConfigError', message: told }))
  })
})
