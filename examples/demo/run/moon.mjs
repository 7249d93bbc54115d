// The one worker in Python: its environment is made while the rest starts, and the demo does without where there is none.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../../../tools/prepare.mjs'

const args = ['pshub', 'examples.demo.moon.tasks', '--queue', 'moon', '--slots', '4', '--grace', '2']

/** pip is a process of that process: they are a group, which can be stopped as one. */
const ownGroup = process.platform !== 'win32'

/**
 * @param {object} options
 * @param {boolean} options.mayMake whether the environment may be made, which takes some seconds, if it is not there
 * @returns {{ found: Promise<{ member: import('./crew.mjs').Member } | { reason: string }>, stop(): void }}
 */
export const prepareMoon = ({ mayMake }) => {
  const tool = [join(root, 'tools/python-env.mjs'), '--demo', ...(mayMake ? [] : ['--ready'])]
  const child = spawn(process.execPath, tool, { stdio: ['ignore', 'pipe', 'pipe'], detached: ownGroup })
  let path = ''
  let told = ''
  child.stdout.on('data', data => {
    path += data
  })
  child.stderr.on('data', data => {
    told += data
  })
  const found = new Promise(resolve => {
    const none = reason => resolve({ reason: `There is no moon worker: ${reason.replace(/\.$/, '')}.` })
    child.on('error', error => none(error.message))
    child.on('close', code => {
      if (code === 0) resolve({ member: { name: 'moon', python: path.trim(), args } })
      else none(told.trim().split('\n').at(-1))
    })
  })
  const stop = () => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
    if (ownGroup) process.kill(-child.pid, 'SIGTERM')
    else child.kill()
  }
  return { found, stop }
}
