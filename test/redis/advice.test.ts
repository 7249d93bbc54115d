import { beforeEach, describe, expect, it } from 'vitest'
import { defineTask, type Hub } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'
import { read } from '../support/protocol-document.ts'

/** What calls are refused with, in the same words as in the other languages. */
const { tasks, args: schema, cases, problems } = JSON.parse(read('clients/vectors/advice.json')).calls

interface Case {
  call?: string
  enqueue?: string
  queue?: string
  timeoutMs?: number
  args?: unknown
  code: string
  message: string
}

const it_ = useRedis()

describe('advice.json, calls', () => {
  let hub: Hub
  beforeEach(async () => {
    hub = it_.hub()
    for (const { queue, tasks: names, left } of tasks) {
      const served = names.map((name: string) => defineTask(name, { args: schema }, () => 1))
      const worker = await it_.worker(served, { queue })
      if (left) await worker.stop()
    }
  })

  it('all of them', async () => {
    expect(cases.length).toBeGreaterThan(10)
    for (const { call, enqueue, queue, timeoutMs, args = {}, code, message } of cases as Case[]) {
      const options = { ...(queue === undefined ? {} : { queue }), ...(timeoutMs === undefined ? {} : { timeoutMs }) }
      const error = await failure(
        enqueue === undefined ? hub.call(call!, args, options) : hub.enqueue(enqueue, args, options),
      )
      expect(error).toMatchObject({ code, ran: 'no' })
      expect(withSortedProblems(error.message)).toBe(
        message.replace('{start}', 'pshub worker <module>').replace('{problems}', problems.join('; ')),
      )
    }
  })
})

/** Each language finds them in an order of its own. */
const withSortedProblems = (message: string): string =>
  message.replace(/(?<=: )(\/.*)(?=\.$)/, found => found.split('; ').sort().join('; '))
