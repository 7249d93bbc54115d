import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { at, base, placeOf } from '../address/paths.ts'
import { isPaused, startLive } from '../live/stream.ts'
import { isPaletteOpen, Palette } from '../palette/index.tsx'
import { Text } from '../parts/text.tsx'
import { ThemeChoice } from '../parts/theme-choice.tsx'
import { ZoneChoice } from '../parts/zone-choice.tsx'
import { environment, namespace } from '../session/access.ts'
import { frameActions } from './actions.ts'
import { ConnectionBanner } from './connection-banner.tsx'
import { Help } from './help.tsx'
import { isHelpOpen, startKeyboard } from './keyboard.ts'
import { LiveState } from './live-state.tsx'
import { NoticeBanner } from './notice-banner.tsx'
import { NotLoggedOut, Who } from './who.tsx'

const places = [
  { place: '', name: 'Overview' },
  { place: 'tasks', name: 'Tasks' },
  { place: 'workers', name: 'Workers' },
  { place: 'queues', name: 'Queues' },
  { place: 'jobs', name: 'Jobs' },
  { place: 'schedules', name: 'Schedules' },
  { place: 'failures', name: 'Failures' },
  { place: 'slow', name: 'Slow' },
]

/** What is around every page. */
export const Frame = ({ children }: { children: ComponentChildren }) => {
  const { path, route } = useLocation()
  const first = placeOf(path).split('/')[0]
  // A key is one of jobs.
  const here = first === 'key' ? 'jobs' : first
  useEffect(startLive, [])
  useEffect(
    () =>
      startKeyboard({
        go: place => route(at(place)),
        pause: () => {
          isPaused.value = !isPaused.value
        },
        togglePalette: () => {
          isPaletteOpen.value = !isPaletteOpen.value
        },
      }),
    [],
  )
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <header class="top" data-environment={environment.value?.colour}>
        <div class="top-inside">
          <a class="brand" href={base}>
            pshub{' '}
            {namespace.value && namespace.value !== 'pshub' && (
              <span class="namespace">
                <Text>{namespace.value}</Text>
              </span>
            )}
          </a>
          {environment.value && (
            <strong class="environment" title="Environment of this registry">
              {environment.value.name}
            </strong>
          )}
          <nav aria-label="Pages">
            {places.map(({ place, name }) => (
              <a key={place} href={at(place)} aria-current={here === place ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </nav>
          <div class="top-tools">
            <button
              type="button"
              class="small"
              aria-haspopup="dialog"
              title="Search everything, and all commands ( Ctrl K )"
              onClick={() => (isPaletteOpen.value = true)}
            >
              Search
            </button>
            <LiveState />
            <ZoneChoice />
            <ThemeChoice />
            <button
              type="button"
              class="small"
              aria-label="Keys"
              title="Keys ( ? )"
              onClick={() => (isHelpOpen.value = true)}
            >
              ?
            </button>
            <Who />
          </div>
        </div>
      </header>
      <ConnectionBanner />
      <NoticeBanner />
      <NotLoggedOut />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
      {/* The router takes no link of a target that is named: these lead to the service itself. */}
      <footer class="bottom">
        For programs: <a href={at('api-reference')}>API reference</a>{' '}
        <a href={at('openapi.json')} target="_top">
          OpenAPI document
        </a>{' '}
        <a href={at('metrics')} target="_top">
          Metrics for Prometheus
        </a>
      </footer>
      <Help />
      <Palette actions={frameActions()} go={route} />
    </>
  )
}
