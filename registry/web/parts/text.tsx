import { printable } from '../text/printable.ts'

/** A stranger's name or message on one line: cut off where it is too long, and whole as a tooltip. */
export const Text = ({ children, class: name }: { children: unknown; class?: string }) => {
  const text = printable(children)
  return (
    <bdi class={name ? `cut ${name}` : 'cut'} title={text}>
      {text}
    </bdi>
  )
}

/** The same, wrapped wherever it must be instead of cut off. */
export const WrappedText = ({ children }: { children: unknown }) => <bdi class="wrap">{printable(children)}</bdi>
