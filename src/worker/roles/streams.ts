import { setMaxListeners } from 'node:events'
import { NotConnected } from '../../redis/failures.ts'
import { sleep } from '../../wire/clock.ts'
import { HubError } from '../../wire/errors.ts'
import type { Request } from '../../wire/message.ts'
import { OpenStream } from '../answers/open-stream.ts'
import { mayPass, untilDone } from '../answers/until-done.ts'
import type { WorkerContext } from '../context.ts'

/** The streams of what runs here: takes what handlers yield to their callers, and ends those that nobody reads any more. */
export class Streams {
  readonly #context: WorkerContext
  readonly #open = new Map<string, OpenStream>()

  constructor(context: WorkerContext) {
    this.#context = context
  }

  /** The stream that a request asks for; `signal` fires when its run is to stop. */
  open(request: Request, hubId: string, signal: AbortSignal, encode: (value: unknown) => string): OpenStream {
    const { executor, queue, commands } = this.#context
    const workerId = this.#context.workerId()
    setMaxListeners(0, signal)
    const way = {
      push: (texts: readonly string[]) =>
        untilDone(this.#context, 'stream', signal, () => this.#push(hubId, texts, workerId), workerId, mayPass),
      taken: () => commands.send(client => queue.taken(client, hubId, request.id)),
      rest: (ms: number) => sleep(ms, signal),
      get isStopped() {
        return signal.aborted
      },
    }
    const onGone = () =>
      executor.abort(request.heldId, new HubError('Aborted', 'Nobody reads this stream any more: its caller is gone.'))
    const stream = new OpenStream(request.id, request.asked!.window, encode, way, onGone)
    this.#open.set(request.heldId, stream)
    return stream
  }

  /** A run has ended. */
  close(request: Request): void {
    this.#open.delete(request.heldId)
  }

  onBeat(): void {
    for (const stream of this.#open.values()) stream.look()
  }

  async #push(hubId: string, texts: readonly string[], workerId: string): Promise<void> {
    const { queue, commands, beat } = this.#context
    if (!beat.isCertain && !(await beat.beatAnew())) throw new NotConnected('the lease could not be renewed')
    if (workerId !== this.#context.workerId()) throw new NotConnected('the lease was lost')
    await commands.send(client => queue.reply(client, hubId, texts))
  }
}
