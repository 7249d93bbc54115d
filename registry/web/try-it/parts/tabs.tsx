import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'

export interface TabChoice {
  id: string
  name: string
  /** Why it cannot be chosen now. */
  refusal?: string | undefined
}

interface TabsProps {
  label: string
  tabs: readonly TabChoice[]
  chosen: string
  onChoose(id: string): void
  children: ComponentChildren
}

/** A row of tabs and the panel of the chosen one: arrow keys move along the row, as in every other such row. */
export const Tabs = ({ label, tabs, chosen, onChoose, children }: TabsProps) => {
  const own = useId()
  const row = useRef<HTMLDivElement>(null)
  const choose = (at: number) => {
    const tab = tabs[(at + tabs.length) % tabs.length]!
    if (tab.refusal !== undefined) return
    onChoose(tab.id)
    row.current?.querySelectorAll('button')[tabs.indexOf(tab)]?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex(({ id }) => id === chosen)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    choose(to)
  }
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} ref={row} onKeyDown={onKeyDown}>
        {tabs.map((tab, at) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${own}-${tab.id}`}
            aria-selected={tab.id === chosen}
            aria-controls={`${own}-panel`}
            aria-disabled={tab.refusal !== undefined}
            tabIndex={tab.id === chosen ? 0 : -1}
            title={tab.refusal}
            onClick={() => choose(at)}
          >
            {tab.name}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id={`${own}-panel`} aria-labelledby={`${own}-${chosen}`}>
        {children}
      </div>
    </>
  )
}
