import { expect, it, onTestFinished } from 'vitest'
import { Inbox } from '../../src/hub/inbox.ts'
import { okReply } from '../../src/wire/message.ts'
import { eventually } from '../support/hub-fixture.ts'
import { ScheduledList } from '../support/scheduled-list.ts'

it('a reply survives that its answer is lost, and the answer of the look for it as well', async () => {
  const list = new ScheduledList()
  const seen = new Set<string>()
  const inbox = new Inbox({
    connection: list.connection,
    key: 'reply',
    readKey: 'reply:read',
    expected: () => 3 - seen.size,
    onReply: ({ id }) => seen.add(id),
    onProblem: reason => expect.unreachable(reason),
  })
  onTestFinished(() => inbox.stop())
  for (const id of ['first', 'second', 'third']) {
    list.push(okReply(id, '1', 'w', { backlog: 0, queue: 0, exec: 0 }))
    list.cut('at the next answer')
    list.cut('at the next answer')
    inbox.wake()
    await eventually(() => seen.has(id), 1500)
  }
})
