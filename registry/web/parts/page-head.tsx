import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { environment, namespace } from '../session/access.ts'
import { printable } from '../text/printable.ts'

/** The first page of a visit leaves the focus where the browser has it. */
let isFirst = true

/** The heading of a page; it names the window, and has the focus after a jump, so that a screen reader says where one is. */
export const PageHead = ({
  title,
  before,
  children,
}: {
  title: string
  /** Where this page belongs: links. */
  before?: ComponentChildren
  children?: ComponentChildren
}) => {
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = printable(title)
  useEffect(() => {
    if (!isFirst) heading.current?.focus({ preventScroll: true })
    isFirst = false
  }, [title])
  useEffect(() => {
    document.title = [
      ...(environment.value ? [environment.value.name] : []),
      shown,
      'pshub',
      ...(namespace.value && namespace.value !== 'pshub' ? [namespace.value] : []),
    ].join(' · ')
  }, [shown, namespace.value, environment.value])
  return (
    <div class="page-head">
      {before && <p class="crumbs">{before}</p>}
      <h1 ref={heading} tabIndex={-1}>
        <bdi class="wrap">{shown}</bdi>
      </h1>
      {children}
    </div>
  )
}
