/** Rules that keep the suite from failing by chance. `test/suite-rules.test.ts` applies them to all test files. */
export interface Rule {
  name: string
  /** What to do instead. */
  remedy: string
  /** Offsets of offences in code whose comments and texts are blank. */
  find(code: string): number[]
}

const isRegExpAhead = (before: string) => /(?:^|[(,=:[!&|?{};\n+]|=>|\breturn|\bcase)\s*$/.test(before)

/**
 * Code whose comments, regular expressions and texts are replaced by blanks of the same length, so that only what runs in this process
 * is looked at. What stands in `${}` stays.
 */
export const blanked = (text: string): string => {
  let code = ''
  /** Depths of braces at which a template goes on. */
  const templates: number[] = []
  let depth = 0
  const blank = (end: number) => {
    code += text.slice(code.length, end).replace(/[^\n]/g, ' ')
  }
  /** Where the template that is open at `at` has its next `${`, or ends. */
  const skipTemplate = (at: number): void => {
    let end = at
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) end += text[end] === '\\' ? 2 : 1
    const goesOn = text[end] === '$'
    blank(Math.min(text.length, end + (goesOn ? 2 : 1)))
    if (goesOn) templates.push(depth)
  }
  const literal =
    /'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?|\/\/[^\n]*|\/\*[\s\S]*?\*\/|\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y
  while (code.length < text.length) {
    const at = code.length
    const char = text[at]!
    if (char === '`') {
      skipTemplate(at + 1)
      continue
    }
    if (char === '}' && templates.at(-1) === depth) {
      templates.pop()
      skipTemplate(at + 1)
      continue
    }
    if (char === "'" || char === '"' || char === '/') {
      literal.lastIndex = at
      const found = literal.exec(text)?.[0]
      const isComment = found?.startsWith('//') || found?.startsWith('/*')
      if (found && (char !== '/' || isComment || isRegExpAhead(code.slice(-80)))) {
        blank(at + found.length)
        continue
      }
    }
    if (char === '{') depth++
    if (char === '}') depth--
    code += char
  }
  return code
}

const offsets = (code: string, ...patterns: RegExp[]): number[] =>
  patterns.flatMap(pattern => [...code.matchAll(pattern)].map(({ index }) => index))

/** The text between the parenthesis at `open` and its counterpart. */
const inside = (code: string, open: number): string => {
  let depth = 0
  for (let at = open; at < code.length; at++) {
    if (code[at] === '(') depth++
    else if (code[at] === ')' && --depth === 0) return code.slice(open + 1, at)
  }
  return code.slice(open + 1)
}

const clock = /\b(?:performance|Date)\.now\(\)|\bmonotonicMs\(\)|\bprocess\.hrtime\b/
/** A difference of two times, by its usual names. */
const elapsed = /\b(?:ms|took\w*|elapsed\w*|lateMs|\w+(?:Took|Elapsed|Late)(?:Ms)?)\b/

/** Names of variables that hold a difference to what the clock says. */
const measuredIn = (code: string): string[] =>
  [...code.matchAll(/\b(?:const|let)? ?(\w+) = ([^\n]*)/g)]
    .filter(([, , value]) => clock.test(value!) && /\)\s*-|-\s*(?:performance|Date|monotonicMs)/.test(value!))
    .map(([, name]) => name!)

const findBounds = (code: string): number[] => {
  const measured = measuredIn(code)
  // What is left until a given time only becomes less.
  const withoutLeft = (subject: string) =>
    /\bMath\b/.test(subject) ? subject : subject.replace(new RegExp(`- (?:${clock.source})`, 'g'), '')
  const isMeasured = (subject: string) =>
    clock.test(withoutLeft(subject)) ||
    elapsed.test(subject) ||
    measured.some(name => new RegExp(`\\b${name}\\b`).test(subject))
  return [...code.matchAll(/\bexpect\(/g)].flatMap(({ index }) => {
    const subject = inside(code, index + 'expect'.length)
    const after = code.slice(index + 'expect('.length + subject.length)
    const isBounded = /^\)\s*\.toBeLessThan(?:OrEqual)?\(/.test(after)
    const isCompared = /[^=]<=? /.test(subject) && clock.test(subject)
    return (isBounded && isMeasured(subject)) || isCompared ? [index] : []
  })
}

const findLists = (code: string): number[] =>
  [...code.matchAll(/\.(?:[hsz]?scan|[hsz]?scanStream|[hsz]?scanBuffer)\(/g)].flatMap(({ index }) => {
    const before = code.slice(0, index).split('\n').slice(-5).join('\n')
    const around = before + code.slice(index).split('\n').slice(0, 9).join('\n')
    return /\.push\(|\.concat\(|= \[\.\.\./.test(around) && !/new Set\b/.test(around) ? [index] : []
  })

export const rules: Rule[] = [
  {
    name: 'fixed wait',
    remedy:
      'await an event or poll with eventually(); where real time must pass, delay() of test/support/delay.ts says why',
    find: code =>
      offsets(
        code,
        /(?<!= )\bsetTimeout\(\s*(?:resolve|done|ready|next|r|\(\) => (?:resolve|done)\b)/g,
        /\bnew Promise(?:<[^>]*>)?\(\s*\(?\w*(?:, \w+)?\)? =>\s*\{?\s*(?:void )?setTimeout\((?!\s*(?:resolve|done|ready|next|r|\(\) => (?:resolve|done)\b))/g,
        /(?<!\.)\bsleep\((?!\))/g,
        /\bpromisify\(setTimeout\)/g,
        /\.waitForTimeout\(/g,
      ),
  },
  {
    name: 'upper bound on elapsed time',
    remedy: 'assert order, counts, states or error codes: a busy machine takes any time',
    find: findBounds,
  },
  {
    name: 'single look at a page',
    remedy: 'a page is drawn a moment after what changes it: await expect.poll(() => ...)',
    find: code =>
      offsets(
        code,
        /\bexpect\(\s*(?:new URL\()?page\.url\(\)/g,
        /\bexpect\(\s*\[?\s*await (?:\w+\(page\b|\w*[pP]age\.(?!text\b)|[^;\n]*\.(?:innerText|allInnerTexts|textContent|inputValue|isVisible)\(\))/g,
      ),
  },
  {
    name: 'free port that is bound later',
    remedy: 'bind port 0, use a Unix socket, or let the server choose',
    find: code => offsets(code, /(?<!function )\bfreePort\(/g),
  },
  {
    name: 'retry',
    remedy: 'a test that fails by chance is a defect',
    find: code => offsets(code, /(?<=[{,]\s*)retry:/g),
  },
  {
    name: 'test that is left out',
    remedy: 'run it, or delete it',
    find: code =>
      offsets(
        code,
        /\b(?:it|test|describe)(?:\.\w+)*\.(?:only|skip|todo|fails)\b/g,
        /(?<![.\w])(?:fit|xit|fdescribe|xdescribe)\(/g,
      ),
  },
  {
    name: 'SCAN taken for a list',
    remedy: 'SCAN may return a key twice: collect the keys in a Set',
    find: findLists,
  },
]

/** Imports are blank in `blanked` code. */
const timersImport = /import \{[^}]*\bset(?:Timeout|Interval)\b[^}]*\} from '(?:node:)?timers\/promises'/g

export interface Offence {
  line: number
  rule: string
  text: string
}

/** The offences in a file's text, in the order of its lines. */
export const offencesIn = (text: string): Offence[] => {
  const code = blanked(text)
  const lines = text.split('\n')
  const at = (rule: string) => (offset: number) => {
    const line = text.slice(0, offset).split('\n').length
    return { line, rule, text: lines[line - 1]!.trim() }
  }
  const found = rules.flatMap(({ name, find }) => find(code).map(at(name)))
  // A text that only looks like one, in a snippet, is blank where it begins.
  const imports = [...text.matchAll(timersImport)].filter(({ index }) => code.startsWith('import', index))
  return [...found, ...imports.map(({ index }) => at('fixed wait')(index))].sort((a, b) => a.line - b.line)
}
