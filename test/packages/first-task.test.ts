import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { root } from '../support/cli-fixture.ts'
import { npmInstall, run, usePacked } from '../support/packed.ts'

const packed = usePacked()
const browser = useBrowser()

it('comes from an empty folder to an answer in the browser with the commands of docs/developing.md', async () => {
  const text = readFileSync(join(root, 'docs/developing.md'), 'utf8')
  const lines = /```sh outline\n([\s\S]*?)```/.exec(text)![1]!.trim().split('\n')
  const commands = lines.map(line => line.replace(/ +#.*/, ''))
  expect(commands.length).toBeLessThanOrEqual(5)
  expect(commands[0]).toBe('npm install pshub pshub-registry')
  const tarballs = [await packed.tarball('pshub'), await packed.tarball('pshub-registry')]
  const cwd = packed.project('first', {})
  const startedAt = performance.now()
  await run('npm', [...npmInstall, ...tarballs], { cwd })
  for (const command of commands.slice(1, -1)) await run('sh', ['-c', command], { cwd })
  const { PSHUB_REDIS: _, ...env } = process.env
  const dev = spawn('sh', ['-c', `exec ${commands.at(-1)}`], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise(resolve => dev.once('close', resolve)) // when all that it started have ended: npx itself ends sooner
  try {
    let said = ''
    dev.stdout.on('data', chunk => (said += chunk))
    await expect.poll(() => said, { timeout: 30_000 }).toMatch(/tasks\/greet:1\.0/)
    const page = await browser.page()
    await page.goto(/Registry: (\S+)/.exec(said)![1]!)
    await page.getByRole('link', { name: 'Tasks', exact: true }).first().click()
    await page.getByRole('link', { name: 'greet' }).first().click()
    await page.locator('[data-pointer="/name"]').fill('Ada')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Hello, Ada!').first().waitFor()
    await page.close()
    expect(performance.now() - startedAt).toBeLessThan(5 * 60_000)
    console.log(
      `answered after ${Math.round((performance.now() - startedAt) / 1000)} s and ${commands.length} commands`,
    )
  } finally {
    dev.kill('SIGTERM')
    await ended
  }
}, 120_000)
