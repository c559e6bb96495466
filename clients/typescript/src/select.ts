// Which snapshots of an entity are asked for.
import { create, type MessageInitShape } from '@bufbuild/protobuf'
import { PatternSchema, type Pattern, type QueryNodeSchema, type SnapshotSelectorSchema } from '../../../gen/es/engram/v1/memory_pb.js'
import { EngramError } from './errors.js'
import { toTime } from './times.js'

export type Selector = MessageInitShape<typeof SnapshotSelectorSchema>
export type Time = bigint | Date | string

/** The newest n. */
export const latest = (n = 1): Selector => ({ kind: { case: 'latest', value: whole('latest', n, 1) } })
/** All that are kept. */
export const all = (): Selector => ({ kind: { case: 'all', value: true } })
/** The one of exactly this time. */
export const at = (t: Time): Selector => ({ kind: { case: 'at', value: toTime(t) } })
/** What was in force at a time. */
export const atOrBefore = (t: Time): Selector => ({ kind: { case: 'atOrBefore', value: toTime(t) } })
/** The one nearest to a time, at most so far away, in nanoseconds. */
export const nearest = (t: Time, within: bigint): Selector => ({ kind: { case: 'nearest', value: { time: toTime(t), withinNanos: within } } })
/** Those from start on, up to but without end. */
export const range = (start?: Time, end?: Time): Selector => ({
  kind: { case: 'range', value: { ...(start !== undefined && { start: toTime(start) }), ...(end !== undefined && { end: toTime(end) }) } },
})

/** By position, the oldest first; negative ones count from the end. Both are in it. */
export const indices = (first: number, last: number): Selector => ({ kind: { case: 'indices', value: { first: BigInt(whole('first', first)), last: BigInt(whole('last', last)) } } })

function whole(name: string, n: number, least = Number.MIN_SAFE_INTEGER): number {
  if (Number.isSafeInteger(n) && n >= least && n < 2 ** 32) return n
  throw new EngramError('invalid', name, `${name} is a whole number${least === 1 ? ', at least 1' : ''}, not ${n}`)
}

/** What was in force at a time; the newest without one. */
export const inForce = (t: Time | undefined): Selector => (t === undefined ? latest() : atOrBefore(t))

/** The pattern of exactly these names, from the memory down. */
export const patternOf = (names: readonly string[]): Pattern =>
  create(PatternSchema, { levels: names.map((name) => ({ kind: { case: 'name' as const, value: name } })) })

/** The tree of a query for snapshots of an entity, or of all entities below. */
export function queryOf(names: readonly string[], snapshots: Selector[]): MessageInitShape<typeof QueryNodeSchema> {
  const node = (level: number): MessageInitShape<typeof QueryNodeSchema> => ({
    ...(level < names.length ? { names: { kind: { case: 'name' as const, value: names[level]! } } } : {}),
    ...(level === 3 ? { snapshots } : { children: [node(level + 1)] }),
  })
  return node(0)
}
