import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { root } from '../support/cli-fixture.ts'
import { npmInstall, run, usePacked } from '../support/packed.ts'

const packed = usePacked()
const browser = useBrowser()

/** What a document has one type in an empty folder, without what is said of it. */
const commandsOf = (document: string): string[] => {
  const text = readFileSync(join(root, document), 'utf8')
  const block = /```sh outline\n[\s\S]*?(npm install \.[\s\S]*?)```/.exec(text)![1]!
  return block
    .trim()
    .split('\n')
    .map(line => line.replace(/ +#.*/, ''))
}

it('comes from an empty folder to an answer of an own task in the browser with what README says', async () => {
  const commands = commandsOf('README.md')
  expect(commandsOf('docs/developing.md')).toEqual(commands)
  expect(commands[0]).toMatch(/^npm install \S*pshub-[\d.]+tgz \S*pshub-registry-[\d.]+tgz$/)
  const own = /^```ts\n(import \{ defineTask \}[\s\S]*?)^```/m.exec(readFileSync(join(root, 'README.md'), 'utf8'))![1]!
  const tarballs = [await packed.tarball('pshub'), await packed.tarball('pshub-registry')]
  const cwd = packed.project('first', {})
  await run('npm', [...npmInstall, ...tarballs], { cwd })
  for (const command of commands.slice(1, -1)) await run('sh', ['-c', command], { cwd })
  const { PSHUB_REDIS: _, ...env } = process.env
  const dev = spawn('sh', ['-c', `exec ${commands.at(-1)}`], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => dev.once('close', resolve)) // when all that it started have ended: npx itself ends sooner
  try {
    let said = ''
    dev.stdout.on('data', chunk => (said += chunk))
    await expect.poll(() => said, { timeout: 60_000 }).toMatch(/tasks\/greet:1\.0/)
    // What they write instead: README's own task, with its schemas.
    writeFileSync(join(cwd, 'tasks.ts'), own)
    await expect.poll(() => said, { timeout: 60_000 }).toMatch(/Reloaded/)
    const page = await browser.page()
    await page.goto(/Registry: (\S+)/.exec(said)![1]!)
    await page.getByRole('link', { name: 'Tasks', exact: true }).first().click()
    await page.getByRole('link', { name: 'resize' }).first().click()
    for (const [field, value] of Object.entries({ width: 4000, height: 3000, box: 800 }))
      await page.locator(`[data-pointer="/${field}"]`).fill(String(value))
    await page.keyboard.press('Control+Enter')
    await page.getByText('600', { exact: true }).first().waitFor()
    await page.close()
  } finally {
    dev.kill('SIGTERM')
    await ended
  }
}, 300_000)
