import { describe, expect, it } from 'vitest'
import { formats, metrics } from '../../src/outlets/metrics.ts'
import { flagOf, type Settings, settingsTable, variableOf } from '../../src/settings/read.ts'
import { read, rowsOf, section, unquoted } from '../support/protocol-document.ts'

const measuring = read('docs/measuring.md')
const settings = read('docs/settings.md')

describe('the guides', () => {
  it('lists all metrics with their types and tags, as the code has them', () => {
    const measure = section('## Measure', measuring)
    const table = measure.slice(measure.indexOf('| metric |'))
    const listed = rowsOf(table).map(([name, type, tags]) => [unquoted(name!), type, unquoted(tags!)])
    const known = Object.values(metrics).map(({ name, type, tags }) => [`pshub.${name}`, type, tags.join(' ')])
    expect(listed).toEqual(known)
  })

  it('lists all settings with their flags and variables', () => {
    const listed = rowsOf(settings).map(cells => cells.slice(0, 3).map(unquoted))
    const known = (Object.keys(settingsTable) as (keyof Settings)[]).map(name => {
      const flag = `--${flagOf(name)}`
      const row = listed.find(([option]) => option === name)
      // A duration's flag says no unit, and shows an example.
      expect([flag, flag.replace(/-ms$/, '')], name).toContain(row?.[1]?.split(' ')[0])
      return [name, row?.[1], variableOf(name)]
    })
    expect(listed.toSorted()).toEqual(known.toSorted())
  })

  it('lists the defaults that settings have', () => {
    for (const [name, , , told] of rowsOf(settings)) {
      const { fallback } = settingsTable[unquoted(name!) as keyof Settings]
      if (typeof fallback === 'function' || unquoted(name!) === 'jobSlots') continue
      const shown = typeof fallback === 'boolean' ? { true: 'on', false: 'off' }[`${fallback}`] : String(fallback ?? '')
      expect(told!.replaceAll('`', '').split(/[; ]|: /)[0], name).toBe(shown || 'none')
    }
  })
})

describe('names of metrics', () => {
  const tags = { queue: 'images', task: 'my/task.a:1.0', code: 'TaskFailed' }

  it('carry tags as DogStatsD has them, and nothing that would end one early', () => {
    const { head, tail } = formats.tags('pshub.', metrics.failed, tags, 'web|1,\n#a')
    expect(head).toBe('pshub.worker.failed:')
    expect(tail).toBe('|#queue:images,task:my/task.a:1.0,code:TaskFailed,name:web_1___a')
  })

  it('are made of the tags for Graphite, each of them one part', () => {
    expect(formats.graphite('', metrics.failed, tags, 'web')).toEqual({
      head: 'worker.failed.images.my_task_a_1_0.TaskFailed:',
      tail: '',
    })
    expect(formats.graphite('p.', metrics.callRejected, { code: 'NoSuchTask' }, 'web').head).toBe(
      'p.call.rejected.NoSuchTask:',
    )
  })
})
