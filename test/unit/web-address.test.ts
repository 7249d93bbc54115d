import { afterEach, describe, expect, it } from 'vitest'
import { taskInAddress } from '../../registry/call-contract.ts'
import { inAddress } from '../../registry/web/address/in-address.ts'
import { clock, dateTime } from '../../registry/web/text/figures.ts'
import { zone } from '../../registry/web/text/zone.ts'

describe('a name in an address', () => {
  it.each(['..', '.', 'a/../b', '...', 'x\ud800', '%2e%2e'])('%s leads nowhere else', name => {
    const { pathname } = new URL(`http://hub.example/workers/${inAddress(name)}`)
    expect(pathname).toMatch(/^\/workers\/[^/]+$/)
  })

  it('is otherwise the same', () => {
    expect(['a b', 'é', '..a'].map(inAddress).map(decodeURIComponent)).toEqual(['a b', 'é', '..a'])
  })
})

describe('the name of a task in an address', () => {
  it('has its slashes as they are, which every proxy lets pass', () => {
    expect(taskInAddress('mail/send:1.0')).toBe('mail/send:1.0')
  })

  it.each([
    'a/../b:1.0',
    'a//b:1.0',
    '/a:1.0',
    'a/',
    '..',
    '.',
    '',
    'a/./b',
    'a#b/c?d&e=%2e%2e',
    'größe/x y:1.0',
    '...',
    '\ud800/a',
  ])('%s leads to it and nowhere else', task => {
    const { pathname, search, hash } = new URL(`http://hub.example/tasks/${taskInAddress(task)}`)
    const names = pathname.split('/').slice(2).map(decodeURIComponent)
    const whole = task === '.' || task === '..' ? '\ufffd' : task.replace('\ud800', '\ufffd')
    expect([names.join('/'), search, hash]).toEqual([whole, '', ''])
    if (/(^|\/)\.{0,2}(\/|$)/.test(task)) expect(names).toHaveLength(1)
  })
})

describe('a moment', () => {
  afterEach(() => {
    zone.value = 'local'
  })

  it('far in the future has its whole date, and none where it is beyond all dates', () => {
    zone.value = 'UTC'
    expect(dateTime(Date.UTC(2026, 0, 31, 13, 45, 7))).toBe('2026-01-31 13:45:07')
    expect(dateTime(8.64e15)).toBe('+275760-09-13 00:00:00')
    expect(clock(Date.UTC(12_000, 5, 1, 2, 3, 4))).toBe('02:03:04')
    for (const atMs of [8.64e15 + 1, Number.NaN]) expect([dateTime(atMs), clock(atMs)]).toEqual(['–', '–'])
  })
})
