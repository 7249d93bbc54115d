import { Component, type ComponentChild, type ComponentType } from 'preact'

/** Draws anew only when a property changed: for rows, of which most stay the same. What is inside must not read signals itself. */
export const memo = <Props extends object>(
  draw: (props: Props) => ComponentChild,
  isSame: (a: unknown, b: unknown) => boolean = Object.is,
): ComponentType<Props> =>
  class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const { props } = this
      return Object.keys({ ...props, ...next }).some(
        key => !isSame(props[key as keyof Props], next[key as keyof Props]),
      )
    }

    override render(props: Readonly<Props>): ComponentChild {
      return draw(props as Props)
    }
  }
