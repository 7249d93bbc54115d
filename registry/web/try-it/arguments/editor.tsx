import { useEffect, useState } from 'preact/hooks'
import type { Problem } from 'pshub'
import type { TaskDetail } from '../../../contract.ts'
import { own } from '../../../schema/steps.ts'
import { focusField, SchemaForm } from '../../form/index.tsx'
import { placeOfPointer } from '../../json/place.ts'
import { printable } from '../../text/printable.ts'
import { Tabs } from '../parts/tabs.tsx'
import { FileDrop } from './file-drop.tsx'
import { JsonTab } from './json-tab.tsx'
import { PasteDialog } from './paste-dialog.tsx'
import { ProblemList } from './problem-list.tsx'
import { type Arguments, startOf } from './state.ts'
import { EditorTools, textOfFile } from './tools.tsx'

export type EditorTab = 'form' | 'json'

interface EditorProps {
  detail: TaskDetail
  args: Arguments
  tab: EditorTab
  onTab(tab: EditorTab): void
  /** What the worker found wrong. */
  verdict: readonly Problem[]
  /** What the form itself finds wrong, as soon as a run was refused for it. */
  findings: readonly Problem[]
  onFindings(problems: readonly Problem[]): void
  /** Changes when a list of problems is to take the focus. */
  attention: number
  onSendAnyway: (() => void) | undefined
  tell(message: string): void
}

/** The arguments as a form and as JSON, each following the other. */
export const ArgumentsEditor = (props: EditorProps) => {
  const { detail, args, tab, onTab, verdict, findings, tell } = props
  const [isPasting, setPasting] = useState(false)
  const [goTo, setGoTo] = useState({ at: 0, wish: 0 })
  const formRefusal = refusalOfForm(detail, args)
  // The form offers the schema's own examples itself.
  const hasOwnExamples = tab === 'form' && own(detail.args, 'examples') !== undefined
  const onFile = async (file: File) => {
    try {
      args.setText(await textOfFile(file))
      tell(`${file.name} is filled in.`)
    } catch (error) {
      tell((error as Error).message)
    }
  }
  const onGo = (pointer: string) => {
    if (tab === 'form') focusField(pointer)
    else setGoTo({ at: placeOfPointer(args.text, pointer), wish: goTo.wish + 1 })
  }
  useEffect(() => {
    // The form cannot show what is no JSON, from a file for example.
    if (formRefusal !== undefined && tab === 'form') onTab('json')
  }, [formRefusal, tab])
  const tabs = [
    { id: 'form', name: 'Form', refusal: formRefusal },
    { id: 'json', name: 'JSON' },
  ]
  return (
    <FileDrop onFile={onFile}>
      <EditorTools
        schema={hasOwnExamples ? undefined : detail.args}
        onFill={args.setValue}
        onReset={() => args.setValue(startOf(detail))}
        onFile={onFile}
        onPaste={() => setPasting(true)}
      />
      {isPasting && (
        <PasteDialog
          task={detail.row.task}
          onFill={(text, about) => {
            args.setText(text)
            tell(about)
          }}
          onClose={() => setPasting(false)}
        />
      )}
      <Tabs label="Input of arguments" tabs={tabs} chosen={tab} onChoose={id => onTab(id as EditorTab)}>
        {tab === 'json' && formRefusal !== undefined && <p class="quiet">{printable(formRefusal)}</p>}
        {/* The form stays while it is hidden: it checks what the text says. */}
        {detail.unusable === undefined && (
          <div hidden={tab !== 'form'}>
            <SchemaForm
              schema={detail.args ?? true}
              value={args.value}
              onChange={args.setValue}
              problems={verdict}
              onProblems={props.onFindings}
              showAll={findings.length > 0}
            />
          </div>
        )}
        {tab === 'json' && (
          <JsonTab
            text={args.text}
            problem={args.textProblem}
            schema={detail.unusable === undefined ? detail.args : undefined}
            goTo={goTo}
            onText={args.setText}
          />
        )}
      </Tabs>
      <Refusals {...props} onGo={onGo} />
    </FileDrop>
  )
}

const refusalOfForm = ({ unusable }: TaskDetail, { textProblem }: Arguments): string | undefined => {
  if (unusable !== undefined) return `There is no form: the schema of the arguments cannot be used: ${unusable}.`
  return textProblem && 'The form is available again when the text is valid JSON.'
}

/** What the worker refused, else what the form itself finds wrong, which the worker may judge all the same. */
const Refusals = ({
  verdict,
  findings,
  attention,
  onSendAnyway,
  onGo,
}: Pick<EditorProps, 'verdict' | 'findings' | 'attention' | 'onSendAnyway'> & { onGo(pointer: string): void }) => (
  <>
    {verdict.length > 0 && (
      <ProblemList title="Rejected by the worker" problems={verdict} attention={attention} onGo={onGo} />
    )}
    {verdict.length === 0 && findings.length > 0 && (
      <>
        <ProblemList title="Not ready to run" problems={findings} attention={attention} onGo={onGo} />
        {onSendAnyway && (
          <button type="button" onClick={onSendAnyway}>
            Run anyway
          </button>
        )}
      </>
    )}
  </>
)
