// What is measured beside each other, and how the two sides of each are started.
import { join } from 'node:path'
import { commandOf, ensureGem, gemEnvironment } from './gems.mjs'
import { LineMember } from './members.mjs'

const here = import.meta.dirname

/** Jobs that warm a side up. */
export const firstJobs = 200

const ofNode = name => ({
  share: 1,
  find: () => ({}),
  enqueuer: (url, count) =>
    new LineMember(process.execPath, [join(here, 'enqueue.mjs'), name, url, String(count), String(firstJobs)]),
  worker: (url, count, slots) =>
    new LineMember(process.execPath, [join(here, 'work.mjs'), name, url, String(count), String(slots)]),
})

const ofRuby = (name, share, workerArgs) => ({
  share,
  find: () => ensureGem(name),
  enqueuer: (url, count) => {
    const env = { ...gemEnvironment(), REDIS_URL: url }
    return new LineMember('ruby', [join(here, 'enqueue.rb'), name, String(count), String(firstJobs)], env)
  },
  worker: (url, count, slots) => {
    const env = { ...gemEnvironment(), REDIS_URL: url, BENCH_COUNT: String(count), BENCH_SLOTS: String(slots) }
    return new LineMember(
      'ruby',
      [commandOf(name), '-r', join(here, 'systems', `${name}.rb`), ...workerArgs(slots)],
      env,
    )
  },
})

/** `share`: of the jobs, for one that is so slow that it would take the most of the time. */
export const systems = {
  pshub: ofNode('pshub'),
  ordered: ofNode('ordered'),
  merged: ofNode('merged'),
  'merged-10': ofNode('merged-10'),
  bullmq: ofNode('bullmq'),
  'bee-queue': ofNode('bee-queue'),
  sidekiq: ofRuby('sidekiq', 1, slots => ['-c', String(slots), '-q', 'bench', '-e', 'production']),
  lowkiq: ofRuby('lowkiq', 0.1, () => []),
}
