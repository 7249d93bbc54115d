// What is looked at without being run, by a program of its own each. One that cannot be had here says why, and fails nothing.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../tools/prepare.mjs'
import { pythonEnv } from '../tools/python-env.mjs'
import { rubyLinter } from '../tools/ruby-lint.mjs'
import { ifPossible, lint, node } from './programs.mjs'

/** Which rules hold is in the client's pyproject.toml. */
const ofPython = [
  { title: 'Python lint', module: 'ruff', args: ['check', '.'] },
  { title: 'Python format', module: 'ruff', args: ['format', '--check', '.'] },
  { title: 'Python type check', module: 'mypy', args: [] },
]

const pythonLints = () => {
  const python = pythonEnv()
  return ofPython.flatMap(({ title, module, args }) => {
    try {
      execFileSync(python, ['-c', `import ${module}`], { stdio: 'ignore' })
      return [{ title, program: python, args: ['-m', module, ...args], cwd: join(root, 'clients/python') }]
    } catch {
      console.log(
        `${title} cannot run here: ${module} could not be installed; remove clients/python/.venv to try again.`,
      )
      return []
    }
  })
}

const rubyLints = () => [
  {
    title: 'Ruby lint',
    program: rubyLinter(),
    args: ['--cache', 'true', '--format', 'simple'],
    cwd: join(root, 'clients/ruby'),
  },
]

export const lints = () => [
  lint,
  node('repository', 'test/repository.mjs'),
  ...ifPossible('The lint of Python', pythonLints),
  ...ifPossible('The lint of Ruby', rubyLints),
]
