/** What decides where a character of a text stands. */
const copied = [
  'font-family',
  'font-size',
  'font-weight',
  'letter-spacing',
  'line-height',
  'tab-size',
  'padding-top',
  'padding-right',
  'padding-bottom',
  'padding-left',
  'border-top-width',
  'border-right-width',
  'border-bottom-width',
  'border-left-width',
  'box-sizing',
  'overflow-wrap',
]

/** Where a place of the text in a field is drawn, from the field's own corner; `lineHeight` below it is the next line. Browsers do not tell. */
export const caretPlace = (
  field: HTMLTextAreaElement,
  at: number,
): { left: number; top: number; lineHeight: number } => {
  const style = getComputedStyle(field)
  const twin = document.createElement('div')
  for (const name of copied) twin.style.setProperty(name, style.getPropertyValue(name))
  Object.assign(twin.style, {
    position: 'absolute',
    visibility: 'hidden',
    whiteSpace: 'pre-wrap',
    borderStyle: 'solid',
    width: `${field.offsetWidth}px`,
  })
  // Lines before this one need not be drawn letter by letter, but for those that are wrapped.
  twin.textContent = field.value.slice(0, at)
  const mark = document.createElement('span')
  mark.textContent = '|'
  twin.append(mark)
  document.body.append(twin)
  const place = {
    left: mark.offsetLeft - field.scrollLeft,
    top: mark.offsetTop - field.scrollTop,
    lineHeight: mark.offsetHeight,
  }
  twin.remove()
  return place
}
