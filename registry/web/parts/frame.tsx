import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { at, base } from '../base.ts'
import { startLive } from '../live.ts'
import { LiveState } from './live-state.tsx'
import { ThemeChoice } from './theme-choice.tsx'

const places = [
  { path: base, name: 'Overview' },
  { path: at('tasks'), name: 'Tasks' },
  { path: at('workers'), name: 'Workers' },
  { path: at('queues'), name: 'Queues' },
]

/** What is around every page. */
export const Frame = ({ children }: { children: ComponentChildren }) => {
  const { path } = useLocation()
  useEffect(startLive, [])
  const isHere = (place: string) => (place === base ? path === base : path.startsWith(place))
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href={base}>
          pshub <span>registry</span>
        </a>
        <nav aria-label="Pages">
          {places.map(place => (
            <a key={place.path} href={place.path} aria-current={isHere(place.path) ? 'page' : undefined}>
              {place.name}
            </a>
          ))}
        </nav>
        <LiveState />
        <ThemeChoice />
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </>
  )
}
