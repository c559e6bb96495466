// Texts in names and payloads: whether they are there, conditions that find them, and the text that was found.
import type { JsonValue } from '@bufbuild/protobuf'
import { namesOf, quoteRegex } from './api'
import { shapeOf, type Shape } from './type'

/** Whether an ID has a text, in small letters or not, as it is written or with its names as they are. */
export function named(id: string, text: string): boolean {
  const low = text.toLowerCase()
  return id.toLowerCase().includes(low) || (id.includes('\\') && namesOf(id).join('/').toLowerCase().includes(low))
}

/** A regular expression for the last name of what has a text in its ID; others may match, too. */
export const lastName = (text: string) => `(?i).*(${quoteRegex(text.split('/').pop()!)}|${quoteRegex(namesOf(text).pop()!)}).*`

/** Whether a text may be a condition in CEL: it compares, calls or looks something up. The server knows. */
export const isCondition = (text: string) => /[=<>!]=|[<>].*\d|\w\(|\bin\s*\[/.test(text)

const most = 40

/** A condition in CEL that holds where some text of the type matches a regular expression, which is given as a literal; "" if it has none. */
export async function texts(type: string, regex: string): Promise<string> {
  try {
    const out: string[] = []
    find(await shapeOf(type), 'payload', regex, 0, out)
    // An expression has at most 4,096 bytes.
    let room = 4000
    return out.filter((e) => (room -= new TextEncoder().encode(e).length + 4) > 0).join(' || ')
  } catch {
    return '' // Of what nobody described nothing is known.
  }
}

function find(s: Shape, path: string, regex: string, depth: number, out: string[]) {
  if (out.length >= most) return
  if ((s.kind === 'text' || s.kind === 'link') && !s.nullable) out.push(`${path}.matches(${regex})`)
  else if (s.kind === 'list' && ['text', 'link'].includes(s.item!.kind)) out.push(`${path}.exists(x, x.matches(${regex}))`)
  else if (s.kind === 'dict' && ['text', 'link'].includes(s.item!.kind)) out.push(`${path}.exists(k, ${path}[k].matches(${regex}))`)
  else if (s.kind === 'struct' && depth < 3) for (const m of s.members) if (/^[A-Za-z_]\w*$/.test(m.name)) find(m.shape, `${path}.${m.name}`, regex, depth + 1, out)
}

/** The first text in a value that has a text, cut. */
export function textIn(v: JsonValue, text: string): string {
  if (typeof v === 'string') {
    const at = v.toLowerCase().indexOf(text.toLowerCase())
    if (at < 0) return ''
    const from = Math.max(0, at - 40)
    return (from ? '…' : '') + v.slice(from, at + 100) + (v.length > at + 100 ? '…' : '')
  }
  if (v === null || typeof v !== 'object') return ''
  for (const x of Object.values(v)) {
    const found = textIn(x, text)
    if (found) return found
  }
  return ''
}
