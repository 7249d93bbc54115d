/**
 * The formats of PROTOCOL.md, section 9.3, as their RFCs have them. They are spelled out here and in every client, because
 * libraries differ in what they let pass, and a call that one language takes must not be refused by another.
 */

const octet = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const ipv4 = `(?:${octet}\\.){3}${octet}`

const piece = '[0-9A-Fa-f]{1,4}'
const lastTwo = `(?:${piece}:${piece}|${ipv4})`
const upTo = (pieces: number) => `(?:(?:${piece}:){0,${pieces - 1}}${piece})?`
const ipv6 = `(?:${[
  `(?:${piece}:){6}${lastTwo}`,
  `::(?:${piece}:){5}${lastTwo}`,
  ...[1, 2, 3, 4, 5].map(before => `${upTo(before)}::(?:${piece}:){${5 - before}}${lastTwo}`),
  `${upTo(6)}::${piece}`,
  `${upTo(7)}::`,
].join('|')})`

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const hostname = `${label}(?:\\.${label})*`

const word = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const quoted = '"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"'
const email = `(?:${word}(?:\\.${word})*|${quoted})@(?:${hostname}|\\[(?:${ipv4}|IPv6:${ipv6})\\])`

const escaped = '%[0-9A-Fa-f]{2}'
const plain = "A-Za-z0-9._~!$&'()*+,;="
const letter = `(?:[${plain}:@-]|${escaped})`
const host = `(?:\\[(?:${ipv6}|[Vv][0-9A-Fa-f]+\\.[${plain}:-]+)\\]|(?:[${plain}-]|${escaped})*)`
const authority = `(?:(?:[${plain}:-]|${escaped})*@)?${host}(?::[0-9]*)?`
const absolute = `//${authority}(?:/${letter}*)*|/(?:${letter}+(?:/${letter}*)*)?`
const tail = `(?:\\?(?:${letter}|[/?])*)?(?:#(?:${letter}|[/?])*)?`
const scheme = '[A-Za-z][A-Za-z0-9+.-]*:'
const uri = `${scheme}(?:${absolute}|${letter}+(?:/${letter}*)*)?${tail}`
// The first step of a relative path has no colon: it would be a scheme.
const relative = `(?:${absolute}|(?:[${plain}@-]|${escaped})+(?:/${letter}*)*)?${tail}`

const name = `(?:[A-Za-z0-9_]|${escaped})+(?:\\.(?:[A-Za-z0-9_]|${escaped})+)*(?::[1-9][0-9]{0,3}|\\*)?`
const template = `(?:[^\\u0000-\\u0020"'<>%\\\\^\`{|}]|${escaped}|\\{[+#./;?&=,!@|]?${name}(?:,${name})*\\})*`

const pointer = '(?:/(?:[^~/]|~[01])*)*'
const ofDay = '(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?'
const ofTime = '(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+S)?)?'

const whole = (pattern: string) => new RegExp(`^(?:${pattern})$`, 'u')
const wholeHostname = whole(hostname)

const isDate = (text: string): boolean => {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text)?.map(Number) ?? []
  if (year === undefined || !month || month > 12) return false
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  return day! >= 1 && day! <= days[month - 1]!
}

const timePattern =
  /^([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9]|60)(?:\.[0-9]+)?(?:[Zz]|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$/

const isTime = (text: string): boolean => {
  const parts = timePattern.exec(text)
  if (parts === null) return false
  if (parts[3] !== '60') return true
  // A leap second is the last one of a day in UTC.
  const offset = (Number(parts[5] ?? 0) * 60 + Number(parts[6] ?? 0)) * (parts[4] === '-' ? -1 : 1)
  return (Number(parts[1]) * 60 + Number(parts[2]) - offset + 2880) % 1440 === 1439
}

const isPattern = (text: string): boolean => {
  try {
    new RegExp(text, 'u')
    return true
  } catch {
    return false
  }
}

export const formats: Record<string, RegExp | ((text: string) => boolean)> = {
  date: isDate,
  time: isTime,
  'date-time': text => isDate(text.slice(0, 10)) && /[Tt]/.test(text.charAt(10)) && isTime(text.slice(11)),
  duration: whole(`P(?!$)(?:${ofDay}${ofTime}|[0-9]+W)`),
  email: whole(email),
  hostname: text => text.length <= 253 && wholeHostname.test(text),
  ipv4: whole(ipv4),
  ipv6: whole(ipv6),
  uri: whole(uri),
  'uri-reference': whole(`${uri}|${relative}`),
  'uri-template': whole(template),
  uuid: whole('[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}'),
  'json-pointer': whole(pointer),
  'relative-json-pointer': whole(`(?:0|[1-9][0-9]*)(?:#|${pointer})`),
  regex: isPattern,
}
