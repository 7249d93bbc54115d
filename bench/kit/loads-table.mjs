// The table and the chart of docs/speed.md, both of one run.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../tools/prepare.mjs'
import { loadsChart } from './loads-chart.mjs'

const [begin, end] = ['<!-- npm run bench -- --docs writes this -->\n', '<!-- to here -->']
const counts = [1, 64, 256]
const head = `| system | p50, 1 in flight | pshub | calls/s, 64 in flight | pshub | p99 | calls/s, 256 in flight | pshub | p99 |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |`

const times = ratio => `${Number(ratio) < 10 ? Number(ratio) : Math.round(ratio)}x`
const atLoad = (row, ratio) => [
  row['calls/s'].toLocaleString('en-US'),
  ratio(row['pshub: x calls/s']),
  `${(row['p99 us'] / 1000).toFixed(1)} ms`,
]

/** @param {{ machine: object, options: object, measurements: { loads: { rows: object[] } } }} found */
export const loadsTable = ({ machine, options, measurements }) => {
  const { rows } = measurements.loads
  const lines = [...new Set(rows.map(({ system }) => system))]
    .sort((a, b) => Number(b === 'pshub') - Number(a === 'pshub'))
    .map(system => {
      const [alone, some, many] = counts.map(count =>
        rows.find(row => row.system === system && row['in flight'] === count),
      )
      const isOwn = system === 'pshub'
      const ratio = text => (isOwn ? '' : times(text))
      const cells = [
        isOwn ? `**${system}**` : system,
        `${alone['p50 us']} us`,
        ratio(alone['x p50']),
        ...atLoad(some, ratio),
        ...atLoad(many, ratio),
      ]
      return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')
    })
  const { processor, node, redis, nats, at } = machine
  const measured = `Measured on ${at.slice(0, 10)}: ${processor}, Node ${node}, Redis ${redis}, nats-server ${nats}; medians of ${options.rounds} interleaved rounds, ${options.slots} slots.`
  return `${measured}\n\n${head}\n${lines.join('\n')}\n`
}

/** Needs all systems, at 1, 64 and 256 in flight. */
export const writeSpeedGuide = found => {
  const guide = join(root, 'docs/speed.md')
  const [before, after] = readFileSync(guide, 'utf8').split(new RegExp(`(?<=${begin})[^]*(?=${end})`))
  writeFileSync(guide, `${before}\n${loadsTable(found)}\n${after}`)
  writeFileSync(join(root, 'docs/pictures/speed.svg'), loadsChart(found))
}
