import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toolNameOf } from '../../registry/server/mcp/tool-name.ts'

describe('names of tools', () => {
  it('can be read where the name of the task can be written so', () => {
    expect(toolNameOf('add:1.0')).toBe('add_1_0')
    expect(toolNameOf('mail/send_now:2.13')).toBe('mail--send_now_2_13')
    expect(toolNameOf('a.b:1.0')).toMatch(/^a_b_1_0-[0-9a-f]{16}$/)
    const long = toolNameOf(`${'x'.repeat(100)}:1.0`)
    expect(long).toMatch(/^x+_1_0-[0-9a-f]{16}$/)
    expect(long).toHaveLength(40)
  })

  it('differ where tasks do that look alike', () => {
    const alike = ['a/b:1.0', 'a--b:1.0', 'a.b:1.0', 'a_b:1.0', 'a-/b:1.0', 'a/-b:1.0', 'a---b:1.0', 'a_1:0.0', 'a:1.0']
    const long = ['y', 'z'].map(end => `${'x'.repeat(99)}${end}:1.0`)
    const names = [...alike, ...long].map(toolNameOf)
    expect(new Set(names).size).toBe(names.length)
  })

  it('are what models are given, one for each task', () => {
    const letters = fc.constantFrom(...'ab1_./-')
    const number = fc.nat(20)
    const tasks = fc
      .tuple(fc.array(letters, { maxLength: 8 }), number, number)
      .map(([rest, major, minor]) => `a${rest.join('')}:${major}.${minor}`)
    fc.assert(
      fc.property(tasks, tasks, (one, other) => {
        expect(toolNameOf(one)).toMatch(/^[A-Za-z0-9_-]{1,40}$/)
        expect(toolNameOf(one) === toolNameOf(other)).toBe(one === other)
      }),
      { numRuns: 2000 },
    )
  })
})
