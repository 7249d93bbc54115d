import type { Events } from '../../figures/events.ts'
import { messageOf } from '../../wire/errors.ts'
import type { Progress } from '../../wire/stream.ts'
import type { Listener } from '../parcel.ts'

/** Hears how far a handler is. One that throws hurts nobody: it is told of as a `problem`. */
export const progressListener = (onProgress: (progress: Progress) => void, events: Events): Listener => ({
  asked: { window: 0, progress: true },
  onPart: part => {
    if (!('progress' in part)) return
    try {
      onProgress(part.progress)
    } catch (error) {
      events.emit('problem', { where: 'onProgress', reason: messageOf(error) })
    }
  },
})
