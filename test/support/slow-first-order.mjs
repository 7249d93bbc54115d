// The order of test files: those that take longest first, so that at the end no long one runs on alone. A fresh clone knows nothing
// of former runs: by name those that took 20 s or more of an idle machine with two cores, then by folders and sizes.
import { statSync } from 'node:fs'
import { basename, relative } from 'node:path'

export const longest = [
  'model/functions.model',
  'redis/cli-enqueue',
  'redis/cli-jobs',
  'redis/cli',
  'redis/cli-worker',
  'redis/cli-lists',
  'redis/pause',
  'redis/cli-top',
  'redis/keepalive-thread',
  'redis/rights',
  'redis/lost-workers',
  'redis/cli-pause',
  'redis/cli-redis-away',
  'redis/statsd-away',
  'redis/outages',
]
const folders = ['packages', 'browser', 'model', 'redis', 'registry', 'fault', 'unit']

const placeOf = ({ moduleId, project }) => {
  const [, folder, ...rest] = relative(project.config.root, moduleId).split(/[\\/]/)
  const named = longest.indexOf(`${folder}/${basename(rest.join('/'), '.test.ts')}`)
  if (named >= 0) return named - longest.length
  const place = folders.indexOf(folder)
  return place < 0 ? folders.length : place
}

export default class SlowFirstOrder {
  sort(specifications) {
    const keyed = specifications.map(each => ({ each, place: placeOf(each), size: statSync(each.moduleId).size }))
    return keyed.sort((a, b) => a.place - b.place || b.size - a.size).map(({ each }) => each)
  }

  shard(specifications) {
    return specifications
  }
}
