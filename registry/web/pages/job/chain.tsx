import type { JobDetail } from '../../../job-contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { jobPath } from '../../address/paths.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { JobBadge } from '../../parts/job-badge.tsx'
import { Text } from '../../parts/text.tsx'
import { mostUntyped } from '../../parts/typed.tsx'
import { post } from '../../session/request.ts'
import { plural } from '../../text/figures.ts'

type Chain = NonNullable<JobDetail['chain']>

const over = ['done', 'expired', 'cancelled']

/** The steps of a chain, one behind the other: how far it is, and what holds it. */
export const ChainPicture = ({ chain, self, onDone }: { chain: Chain; self: string; onDone(): void }) => {
  const { steps } = chain
  const done = steps.filter(({ state }) => state === 'done').length
  const dead = steps.find(({ state }) => state === 'dead')
  const first = steps[0]
  const open = steps.filter(({ state }) => !over.includes(state)).length
  return (
    <section class="part" aria-labelledby="job-chain">
      <div class="part-head">
        <h2 id="job-chain">Chain</h2>
        <span class="quiet">
          {done} of {steps.length} steps done
        </span>
        {dead && (
          <ActionButton
            name="Continue from here"
            of={dead.id}
            question={`Retry step ${steps.indexOf(dead) + 1}`}
            verb="Continue the chain"
            act={() => retry(dead).then(onDone)}
          >
            The chain continues with this step and a new count of tries. To change its arguments, open its job.
          </ActionButton>
        )}
        {open > 0 && first && (
          <ActionButton
            name="Cancel the chain"
            of={chain.id}
            question="Cancel the chain"
            verb="Cancel what has not ended"
            typed={open > mostUntyped ? String(open) : undefined}
            act={() => post(`jobs/${inAddress(chain.id)}/cancel-chain`, { queue: first.queue }).then(onDone)}
          >
            {plural(open, 'step')} {open === 1 ? 'has' : 'have'} not ended. No further step starts. The abort signal of
            a running step fires.
          </ActionButton>
        )}
      </div>
      <ol class="chain">
        {steps.map(({ id, queue, task, state }, at) => (
          <li key={id} class={`step ${state}`} aria-current={id === self ? 'step' : undefined}>
            <span class="step-head">
              <span class="quiet">{at + 1}</span> <JobBadge state={state} />
            </span>
            {id === self || state === 'pending' ? (
              <Text>{task}</Text>
            ) : (
              <a href={jobPath(id, { queue })}>
                <Text>{task}</Text>
              </a>
            )}
            <span class="quiet">
              <Text>{queue}</Text>
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

/** @throws ApiFailure; an Error when it was there no more */
const retry = async ({ id, queue }: { id: string; queue: string }): Promise<void> => {
  const { changed } = await post<{ changed: boolean }>(`jobs/${inAddress(id)}/retry`, { queue })
  if (!changed) throw new Error('It is no longer dead: somebody retried or deleted it.')
}
