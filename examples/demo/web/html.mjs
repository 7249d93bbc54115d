// The one way HTML is made here: a tagged template that escapes every value put into it.

class Markup {
  constructor(text) {
    this.text = text
  }

  toString() {
    return this.text
  }
}

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escapeText = text => text.replace(/[&<>"']/g, character => entities[character])

const render = value => {
  if (value === undefined || value === null || value === false) return ''
  if (value instanceof Markup) return value.text
  if (Array.isArray(value)) return value.map(render).join('')
  return escapeText(String(value))
}

/**
 * Text becomes escaped text; what this function made stays markup; lists are joined; null, undefined and false vanish.
 * Attribute values must be written in double quotes.
 *
 * @returns {Markup}
 */
export const html = (strings, ...values) =>
  new Markup(strings.reduce((whole, string, index) => whole + render(values[index - 1]) + string))
