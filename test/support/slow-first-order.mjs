// The order of test files: slow ones first, so that at the end no long one runs on alone. A fresh clone knows nothing of former runs:
// folders whose tests start processes and browsers come first, and in each the largest files.
import { statSync } from 'node:fs'
import { relative } from 'node:path'

const folders = ['packages', 'model', 'browser', 'redis', 'registry', 'fault', 'unit']

const placeOf = ({ moduleId, project }) => {
  const [, folder] = relative(project.config.root, moduleId).split(/[\\/]/)
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
