import { Component, type ComponentChildren } from 'preact'
import { printable } from '../text/printable.ts'
import { Empty } from './empty.tsx'

interface BoundaryProps {
  /** What is not there when it cannot be drawn, as in 'This page'. */
  what: string
  /** What is drawn is made of it: when it changes, drawing is tried again. */
  of?: unknown
  children: ComponentChildren
}

interface BoundaryState {
  failed?: { message: string; of: unknown }
}

/** What a value that nobody thought of breaks ends here: the rest of the page stays, and this part says what is wrong. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = {}

  override componentDidCatch(error: unknown): void {
    console.warn('A part of the page cannot be shown.', error)
    const message = error instanceof Error ? error.message : String(error)
    this.setState({ failed: { message, of: this.props.of } })
  }

  override render({ what, of, children }: BoundaryProps, { failed }: BoundaryState): ComponentChildren {
    if (!failed || failed.of !== of) return children
    return (
      <Empty title={`${what} cannot be shown.`}>
        <p class="wrap" role="alert">
          Its data is invalid: {printable(failed.message).slice(0, 300)}. Everything else still works.
        </p>
        <button type="button" class="small" onClick={() => this.setState({ failed: undefined as never })}>
          Try again
        </button>
      </Empty>
    )
  }
}
