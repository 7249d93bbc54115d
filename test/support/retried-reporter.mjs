// Notes which tests passed only when they were tried again, beside the report of all: vitest's own reports do not tell.
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'

export default class RetriedReporter {
  #vitest

  onInit(vitest) {
    this.#vitest = vitest
  }

  onTestRunEnd(modules) {
    const { outputFile, root } = this.#vitest.config
    const retried = modules.flatMap(module =>
      [...module.children.allTests('passed')]
        .filter(test => test.diagnostic()?.retryCount > 0)
        .map(test => `${relative(root, module.moduleId)}: ${test.fullName}`),
    )
    writeFileSync(`${outputFile.json}.retried`, JSON.stringify(retried))
  }
}
