import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pythonEnv } from '../../tools/python-env.mjs'
import { rubyEnv } from '../../tools/ruby-env.mjs'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const clients = resolve(import.meta.dirname, '../../clients')

const python = `
from typing import Optional
from pshub import task

@task("greet_python:1.0")
def greet(name: str, times: int = 1, title: Optional[str] = None):
    """Greets somebody."""
    return " ".join([f"Hello {title or ''}{name}!"] * times)
`

const ruby = `
task "greet_ruby:1.0",
     args: { type: "object", required: ["name"], additionalProperties: false,
             properties: { name: { type: "string" }, times: { type: "integer", default: 1, minimum: 1 } } },
     description: "Greets somebody." do |args, _ctx|
  (["Hello #{args["name"]}!"] * args.fetch("times", 1)).join(" ")
end
`

/** A worker as its users start it. Its language is set up before the tests; where it cannot be had, the reason is told. */
const workers = {
  Python: {
    file: 'greet_tasks.py',
    text: python,
    start: (file: string) => [join(dirname(pythonEnv()), 'pshub-worker-py'), file],
  },
  Ruby: {
    file: 'greet_tasks.rb',
    text: ruby,
    start: (file: string) => [
      rubyEnv(),
      '-I',
      join(clients, 'ruby/lib'),
      join(clients, 'ruby/exe/pshub-worker-rb'),
      file,
    ],
  },
}

const commandOf = (language: keyof typeof workers, folder: string): string[] | undefined => {
  const { file, text, start } = workers[language]
  writeFileSync(join(folder, file), text)
  try {
    return start(file)
  } catch (error) {
    console.log(`A worker in ${language} was not tried: ${(error as Error).message}`)
    return undefined
  }
}

describe.each(Object.keys(workers) as (keyof typeof workers)[])('a task of a worker in %s', language => {
  it('has a form of its own schema, which runs it', async ({ skip }) => {
    const folder = mkdtempSync(join(tmpdir(), 'pshub-language-'))
    fixture.onEnd(() => rmSync(folder, { recursive: true, force: true }))
    const command = commandOf(language, folder)
    if (!command) return skip(`no ${language} on this machine`)
    const [program, ...args] = command
    const options = ['--queue', 'greetings', '--redis', fixture.url, '--namespace', fixture.namespace]
    const child = spawn(program!, [...args, ...options], { cwd: folder, stdio: 'ignore' })
    fixture.onEnd(async () => {
      if (child.exitCode !== null) return
      child.kill()
      await once(child, 'exit')
    })
    const name = `greet_${language.toLowerCase()}`
    const page = await openPage(browser, await fixture.registry(), 'tasks')
    await page.getByRole('link', { name }).click()
    await page.getByText('Greets somebody.').first().waitFor()
    await page.locator('[data-pointer="/name"]').first().fill('Ada')
    await page.locator('[data-pointer="/times"]').first().fill('2')
    await page.keyboard.press('Control+Enter')
    await page.getByText('Hello Ada! Hello Ada!').first().waitFor()
    expect(await page.getByText(/waited in Redis for an idle slot/).count()).toBe(1)
    await browser.screenshot(page, `form-${language.toLowerCase()}`)
  }, 60_000)
})
