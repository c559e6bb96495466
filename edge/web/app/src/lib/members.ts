// The members of values: their order, as cells of a table, and where two values differ.
import type { JsonValue } from '@bufbuild/protobuf'
import { below, isStruct, memberOf, type Shape } from './type'

/** Compares texts as people sort them: item2 before item10. */
export const natural = new Intl.Collator(undefined, { numeric: true }).compare

/** How many members or items a value has; 0 if it can have none. */
export const sizeOf = (v: JsonValue | undefined): number => (Array.isArray(v) ? v.length : isStruct(v) ? Object.keys(v).length : 0)

/**
 * What the elements of a member are about: those of a list beside a list "name" of as many texts, such as the values of joints,
 * as idf.ElementLabels at the server has it.
 */
export function labelsOf(of: Record<string, JsonValue>, member: string): string[] | undefined {
  const [names, list] = [of.name, of[member]]
  const are = member !== 'name' && Array.isArray(names) && Array.isArray(list) && names.length === list.length && names.every((n) => typeof n === 'string')
  return are ? names : undefined
}

/** Whether a value is a few numbers by name, such as x, y, z. */
export function isVector(v: JsonValue | undefined): v is Record<string, number> {
  if (!isStruct(v)) return false
  const n = sizeOf(v)
  return n > 0 && n <= 4 && Object.values(v).every((x) => typeof x === 'number')
}

/** The members of an object as its type orders them; others by name. */
export function ordered(v: Record<string, JsonValue>, shape?: Shape): [string, JsonValue][] {
  return names(Object.keys(v), shape).map((k) => [k, v[k]!])
}

function names(keys: string[], shape?: Shape): string[] {
  const order = new Map(shape?.members.map((m, i) => [m.name, i]))
  const place = (k: string) => order.get(k) ?? 'xyzw'.indexOf(k) + 1e6
  return keys.sort((a, b) => place(a) - place(b) || natural(a, b))
}

/** The members of a value as cells by their paths; lists, and vectors below the value itself, are one cell. */
export function cells(v: JsonValue, path = '', depth = 0, out: Record<string, JsonValue> = {}): Record<string, JsonValue> {
  if (!isStruct(v) || (path && (depth > 3 || isVector(v)))) {
    if (path || v !== null) out[path || 'value'] = v
    return out
  }
  for (const [k, x] of Object.entries(v)) cells(x, below(path, k), depth + 1, out)
  return out
}

export interface Difference {
  path: string
  /** Undefined where it is not there. */
  a?: JsonValue
  b?: JsonValue
  /** Of numbers. */
  change?: number | bigint
}

/** Where two values of a type differ, in its order; one more than so many at most. */
export function differences(a: JsonValue | undefined, b: JsonValue | undefined, shape: Shape | undefined, most: number, path = '', out: Difference[] = []): Difference[] {
  if (a === b || out.length > most) return out
  const both = (is: (v: JsonValue | undefined) => boolean) => (is(a) || a === undefined) && (is(b) || b === undefined) && sizeOf(a) + sizeOf(b) > 0
  if (both(Array.isArray)) {
    const x = (a ?? []) as JsonValue[]
    const y = (b ?? []) as JsonValue[]
    for (let i = 0; i < Math.max(x.length, y.length) && out.length <= most; i++) {
      if (x[i] !== y[i]) differences(x[i], y[i], memberOf(shape, String(i))?.shape, most, below(path, i), out)
    }
  } else if (both(isStruct)) {
    const x = (a ?? {}) as Record<string, JsonValue>
    const y = (b ?? {}) as Record<string, JsonValue>
    const keys = [...new Set([...Object.keys(x), ...Object.keys(y)])].filter((k) => x[k] !== y[k])
    for (const k of names(keys, shape)) {
      if (out.length > most) break
      differences(x[k], y[k], memberOf(shape, k)?.shape, most, below(path, k), out)
    }
  } else if (sizeOf(a) || sizeOf(b) || JSON.stringify(a) !== JSON.stringify(b)) {
    out.push({ path, a, b, change: change(a, b, shape) })
  }
  return out
}

function change(a: JsonValue | undefined, b: JsonValue | undefined, shape: Shape | undefined): number | bigint | undefined {
  if (typeof a === 'number' && typeof b === 'number') return b - a
  return shape?.kind === 'int' && typeof a === 'string' && typeof b === 'string' ? BigInt(b) - BigInt(a) : undefined
}
