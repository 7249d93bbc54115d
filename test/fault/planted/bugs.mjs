// Bugs put into a copy of the built pshub, to show that the suite finds them. Each is one that other systems have had.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../../tools/prepare.mjs'

/** `row` is the fault that must show it, by what it `breaks`; each edit replaces a text that must be there exactly once. */
export const bugs = [
  {
    name: 'unfenced settle',
    row: 'F38',
    breaks: ['I6'],
    what: 'a worker that lost its lease goes on and answers',
    edits: [
      ['worker.js', /this\.#executor\.abandonAll\(new HubError\('WorkerLost', 'The lease[^)]*\)\)/, '0'],
      ['roles/intake.js', 'if (workerId !== this.#options.workerId())', 'if (false)'],
      ['roles/settle.js', 'settlement.workerId !== current', 'false'],
    ],
  },
  {
    name: 'two-step adoption',
    row: 'F37-adopt',
    breaks: ['lost'],
    what: 'what a lost worker held is taken out in one step and recorded in the next',
    edits: [
      ['lua/adopt.lua', "redis.call('HSET', KEYS[3], field, found[i + 1])", ''],
      [
        'queue.js',
        'return readAdopted(await scripts.adopt.run(client, keys, [lostId, workerId, adoptBatch, adoptedMs]))',
        'const adopted = readAdopted(await scripts.adopt.run(client, keys, [lostId, workerId, adoptBatch, adoptedMs])); for (const { id, text } of adopted?.requests ?? []) await client.hset(held(workerId), id, text); return adopted',
      ],
    ],
  },
  {
    name: 'no reconcile',
    row: 'F04',
    breaks: ['lost'],
    what: 'a claim whose answer was lost is never looked for',
    edits: [['roles/reconcile.js', 'async look(nowUs) {', 'async look(nowUs) { return;']],
  },
  {
    name: 'plain BLPOP claim',
    row: 'F37',
    breaks: ['lost'],
    what: 'a claim takes requests off the list without recording who holds them',
    edits: [
      ['lua/claim.lua', "redis.pcall('HSET', KEYS[3], unpack(held))", '0'],
      ['taken.js', "new Preset('lmove', calls, own, 'LEFT', 'RIGHT')", "new Preset('lpop', calls)"],
    ],
  },
  {
    name: 'release before reply',
    row: 'F37-release',
    breaks: ['lost'],
    what: 'a request is forgotten before its reply was pushed',
    edits: [
      [
        'replylists.js',
        'push(client, hubId, replies) {',
        'async push(client, hubId, replies) { await new Promise(resolve => setTimeout(resolve, 30));',
      ],
    ],
  },
]

const replaceOnce = (text, find, replacement, file) => {
  const parts = text.split(find)
  if (parts.length !== 2)
    throw new Error(`A planted bug does not fit any more: ${find} is ${parts.length - 1} times in ${file}.`)
  return parts.join(replacement)
}

/** A copy of dist/ with the bug in it. */
export const plant = ({ edits }) => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-planted-'))
  for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, find, replacement] of edits) {
    const path = join(folder, 'dist', file)
    writeFileSync(path, replaceOnce(readFileSync(path, 'utf8'), find, replacement, file))
  }
  return { dist: join(folder, 'dist'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}
