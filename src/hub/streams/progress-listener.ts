import { AsyncResource } from 'node:async_hooks'
import type { Events } from '../../figures/events.ts'
import { messageOf } from '../../wire/errors.ts'
import type { Progress } from '../../wire/stream.ts'
import type { Listener } from '../parcel.ts'

/** Hears how far a handler is, in the context of whoever calls now. One that throws hurts nobody: it is told of as a `problem`. */
export const progressListener = (onProgress: (progress: Progress) => void, events: Events): Listener => {
  const bound = AsyncResource.bind(onProgress)
  return {
    asked: { window: 0, progress: true },
    onPart: part => {
      if (!('progress' in part)) return
      try {
        bound(part.progress)
      } catch (error) {
        events.emit('problem', { where: 'onProgress', reason: messageOf(error) })
      }
    },
  }
}
