// Bugs put into a copy of the built pshub, to show that the suite finds them. Each is one that other systems have had.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { embedLua } from '../../../tools/embed.mjs'
import { root } from '../../../tools/prepare.mjs'
import { streamBugs } from './stream-bugs.mjs'

/** What the connection before sent may arrive whenever it likes. */
export const noFence = ['redis/fence.js', 'this.#predecessor ? refusable(', 'false ? refusable(']

/**
 * `row` is the fault that must show it, by what it `breaks`; each edit replaces a text that must be there exactly once. Workers have it, or
 * callers where it `isOfCallers`.
 */
export const bugs = [
  {
    name: 'workers that do not fence',
    row: 'F49-handback',
    // That a call runs twice by it comes up in some runs only.
    breaks: ['late', 'I5'],
    what: 'a hand-back that was given up takes a call from the worker that runs it when it arrives',
    edits: [noFence],
  },
  {
    name: 'callers that do not fence',
    isOfCallers: true,
    row: 'F49-callers',
    breaks: ['late', 'lost'],
    what: 'a read of the inbox that was given up moves a reply to where nobody looks when it arrives',
    edits: [noFence],
  },
  {
    name: 'unfenced settle',
    row: 'F38',
    breaks: ['I6'],
    what: 'a worker that lost its lease goes on and answers',
    edits: [
      ['worker/crew.js', /executor\.abandonAll\(new HubError\('WorkerLost', 'The lease[^)]*\)\)/, '0'],
      ['worker/roles/intake.js', 'if (workerId !== this.#context.workerId())', 'if (false)'],
      ['worker/roles/settle.js', 'if (batch.workerId === current && !isReleased)', 'if (!isReleased)'],
      ['worker/roles/settle.js', 'if (batch.workerId === workerId)', 'if (true)'],
      ['worker/answers/until-done.js', 'workerId === current(); attempt++', 'true; attempt++'],
      ['worker/roles/settle.js', 'if (workerId !== this.#context.workerId())', 'if (false)'],
    ],
  },
  {
    name: 'two-step adoption',
    row: 'F37-adopt',
    breaks: ['lost'],
    what: 'what a lost worker held is taken out in one step and recorded in the next',
    edits: [
      ['queue/lua/adopt.lua', "redis.call('LPUSH', KEYS[4], message)", ''],
      [
        'queue/queue.js',
        "return readAdopted(await run(client, 'adopt', keys, args))",
        "const adopted = readAdopted(await run(client, 'adopt', keys, args)); for (const { text } of adopted?.redelivered ?? []) await client.lpush(calls, text); return adopted",
      ],
    ],
  },
  {
    name: 'no reconcile',
    row: 'F04',
    breaks: ['lost'],
    what: 'a claim whose answer was lost is never looked for',
    edits: [
      [
        'worker/roles/reconcile.js',
        'async look(held, nowUs, sentAt, arrivingSince) {',
        'async look(held, nowUs, sentAt) { return;',
      ],
    ],
  },
  {
    name: 'plain BLPOP claim',
    row: 'F37',
    breaks: ['lost'],
    what: 'a claim takes requests off the list without recording who holds them',
    edits: [['queue/lua/claim.lua', "redis.pcall('HSET', KEYS[3], unpack(held))", '0']],
  },
  {
    name: 'release before reply',
    row: 'F37-release',
    breaks: ['lost'],
    what: 'a request is forgotten before its reply was pushed',
    edits: [
      [
        'worker/roles/settle.js',
        'async #deliver(batch) {',
        'async #deliver(batch) { const { queue, commands } = this.#context; await commands.send(client => queue.release(client, batch.workerId, batch.ids)); await new Promise(done => globalThis.setTimeout(done, 200));',
      ],
    ],
  },
  {
    name: 'no mark of a start',
    row: 'F40-deploy',
    breaks: ['I2'],
    what: 'a call that a leaving worker had started goes back to the list like one that nobody touched',
    edits: [['queue/lua/leave.lua', 'body .. \',"started":true}\'', 'message']],
  },
  {
    name: 'forgets what it released',
    row: 'F32',
    breaks: ['I5'],
    what: 'what a promoted replica still calls held is put back, though it ended here',
    edits: [['worker/slots.js', 'this.#released.add(ids)', '']],
  },
  {
    name: 'adopts after a step of the clock',
    row: 'F44-redis',
    breaks: ['I16', 'class'],
    what: 'leases that ended because a clock was set are taken for deaths',
    edits: [['worker/roles/adopt.js', 'this.#context.clock.steppedAt + graceMs', '0']],
  },
  {
    name: 'leases from before a step back of the clock',
    row: 'F44-back',
    breaks: ['stage', 'class'],
    what: 'a lease is believed however far ahead it ends',
    edits: [['queue/lua/shared-beat.lua', 'if lease > longest then', 'if false then']],
  },
  {
    name: 'claim without a bound in bytes',
    row: 'F10-heavy',
    breaks: ['steady'],
    what: 'a claim for all idle slots brings whatever fits into these',
    edits: [['queue/queue.js', '[workerId, slots, jobs, maxBatchBytes, epoch]', '[workerId, slots, jobs, 1e9, epoch]']],
  },
  {
    name: 'no rest after a foreign request',
    row: 'F29-foreign',
    breaks: ['busy'],
    what: 'what only others can run is handed back and taken again at once',
    edits: [['worker/roles/intake.js', 'ms: this.#restMs[kind]', 'ms: 0']],
  },
  {
    name: 'connects again too late',
    row: 'F13',
    breaks: ['I14'],
    isOfCallers: true,
    what: 'a connection that was lost is made again after 20 s',
    edits: [
      ['redis/node-connection.js', 'await sleep(backoffMs(this.#attempt++), signal)', 'await sleep(20_000, signal)'],
    ],
  },
  ...streamBugs,
]

const replaceOnce = (text, [file, find, replacement]) => {
  const parts = text.split(find)
  if (parts.length !== 2)
    throw new Error(`A planted bug does not fit any more: ${find} is ${parts.length - 1} times in ${file}.`)
  return parts.join(replacement)
}

/** The functions in Redis lie in the build as text in a module: a bug in one of them is planted into its source. */
const sourceOf = file => join(root, file.endsWith('.lua') ? 'src' : 'dist', file)

/** Throws where the code has changed so that the bug cannot be planted any more. */
export const fits = ({ edits }) => {
  const texts = new Map()
  for (const edit of edits) {
    const [file] = edit
    texts.set(file, replaceOnce(texts.get(file) ?? readFileSync(sourceOf(file), 'utf8'), edit))
  }
  return texts
}

/** A copy of dist/ with the bug in it. */
export const plant = bug => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-planted-'))
  for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true })
  const lua = join(folder, 'dist/queue/lua')
  cpSync(join(root, 'src/queue/lua'), lua, { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, text] of fits(bug)) writeFileSync(join(folder, 'dist', file), text)
  embedLua(lua, join(folder, 'dist'))
  return { dist: join(folder, 'dist'), remove: () => rmSync(folder, { recursive: true, force: true }) }
}
