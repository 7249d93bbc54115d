import '../looks/versions.css'
import { useId, useMemo, useState } from 'preact/hooks'
import type { TaskDetail, TaskVersion } from '../../contract.ts'
import { printable } from '../text/printable.ts'
import { ChangeList, KindBadge } from './change-list.tsx'
import { changesOf, worstOf } from './changes.ts'
import { SideBySide } from './side-by-side.tsx'

/** Two versions of a task: what changed from one to the other, and whether that breaks who calls it. */
export const Versions = ({ detail }: { detail: TaskDetail }) => {
  const { versions, row } = detail
  const own = versions.findIndex(({ task }) => task === row.task)
  const [names, setNames] = useState(() => {
    // Newest first: the one before this one follows it, and the oldest is compared with the one after it.
    const before = versions[own + 1] ?? versions[own]
    const after = versions[own + 1] ? versions[own] : versions[own - 1]
    return { before: before?.task ?? '', after: after?.task ?? '' }
  })
  if (versions.length < 2)
    return (
      <p class="quiet">
        There is only one version. To compare, declare the task with another number, such as{' '}
        <code>{printable(row.name)}:2.0</code>, and run a worker that provides both.
      </p>
    )
  const before = versions.find(({ task }) => task === names.before) ?? versions.at(-1)!
  const after = versions.find(({ task }) => task === names.after) ?? versions[0]!
  return (
    <section class="versions" aria-label="What changed between two versions">
      <div class="version-choice">
        <VersionChoice
          label="From"
          versions={versions}
          chosen={before}
          onChoose={task => setNames({ ...names, before: task })}
        />
        <VersionChoice
          label="to"
          versions={versions}
          chosen={after}
          onChoose={task => setNames({ ...names, after: task })}
        />
        <button type="button" onClick={() => setNames({ before: after.task, after: before.task })}>
          Swap
        </button>
      </div>
      {before === after ? (
        <p class="quiet">Choose two different versions.</p>
      ) : (
        <Changes key={`${before.task} ${after.task}`} before={before} after={after} />
      )}
    </section>
  )
}

interface ChoiceProps {
  label: string
  versions: readonly TaskVersion[]
  chosen: TaskVersion
  onChoose(task: string): void
}

const VersionChoice = ({ label, versions, chosen, onChoose }: ChoiceProps) => {
  const own = useId()
  return (
    <>
      <label for={own}>{label}</label>
      <select id={own} value={chosen.task} onChange={event => onChoose(event.currentTarget.value)}>
        {versions.map(({ task, version }) => (
          <option key={task} value={task}>
            {printable(version)}
          </option>
        ))}
      </select>
    </>
  )
}

const Changes = ({ before, after }: { before: TaskVersion; after: TaskVersion }) => {
  const changes = useMemo(() => changesOf(before, after), [before, after])
  const names = [printable(before.version), printable(after.version)] as const
  const isNone = changes.args.length + changes.result.length + changes.options.length === 0
  return (
    <>
      <p class="version-verdict" role="status">
        {isNone ? (
          'Nothing changed.'
        ) : (
          <>
            <KindBadge kind={worstOf(changes)} /> for who calls {names[0]} now and would call {names[1]}.
          </>
        )}
      </p>
      <ChangeList title="Arguments" changes={changes.args} />
      <ChangeList title="Result" changes={changes.result} />
      <ChangeList title="Options" changes={changes.options} />
      <SideBySide title="Arguments" before={before.args} after={after.args} names={names} />
      <SideBySide title="Result" before={before.result} after={after.result} names={names} />
    </>
  )
}
