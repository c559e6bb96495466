// What /view/world answers with, and its items as the rows of a tree.
import { namesOf } from '../lib/api'
import { natural } from '../lib/members'
import type { Pose, Thing } from '../scene/types'

export interface Item {
  name: string
  label?: string
  parent?: string
  waiting?: boolean
  kinds?: string[]
  class?: string
  id?: string
  root?: string
  pose?: Pose
  size?: [number, number, number]
  colour?: string
  belief?: number
  seen?: string
  by?: string
  held?: boolean
  inside?: boolean
  doubt?: string
}

export interface World {
  items: Item[]
  maps: Thing[]
  leftOut?: number
}

export interface Row {
  item: Item
  depth: number
  /** How many items are below it. */
  below: number
}

/** The rows of items below each other, without what is below closed ones; with a filter, what matches and all above it. */
export function rowsOf(items: Item[], closed: Record<string, boolean>, filter: string): Row[] {
  const named = new Map(items.map((i) => [i.name, i]))
  const parentOf = (i: Item) => (i.parent && i.parent !== i.name && named.has(i.parent) ? i.parent : '')
  let wanted: Set<string> | undefined
  if (filter) {
    wanted = new Set()
    const has = (text: string | undefined) => text?.toLowerCase().includes(filter)
    for (const i of items) {
      if (!has(i.name) && !has(i.label) && !has(i.class) && !i.kinds?.some(has)) continue
      for (let up: Item | undefined = i; up && !wanted.has(up.name); up = named.get(parentOf(up))) wanted.add(up.name)
    }
  }
  const below = new Map<string, Item[]>()
  for (const i of items) {
    if (wanted && !wanted.has(i.name)) continue
    const beside = below.get(parentOf(i))
    if (beside) beside.push(i)
    else below.set(parentOf(i), [i])
  }
  const out: Row[] = []
  const put = (parent: string, depth: number) => {
    for (const item of (below.get(parent) ?? []).sort((a, b) => natural(a.name, b.name))) {
      const children = below.get(item.name)?.length ?? 0
      out.push({ item, depth, below: children })
      if (children && depth < 100 && (filter || !closed[item.name])) put(item.name, depth + 1)
    }
  }
  put('', 0)
  return out
}

/** The item that an entity says something of, "" if of none: all that is said of an item, by whomever, is said of one thing. */
export function itemOf(entity: string): string {
  const names = namesOf(entity)
  return (names[0] === 'World' && names[1] === 'Item') || names[0] === 'Object' ? (names[3] ?? '') : ''
}

/** x, y, and the angle to the left, rad, of a pose as seen from above. */
export function flat(p: Pose): [number, number, number] {
  const [x, y, , qx, qy, qz, qw] = p
  return [x, y, Math.atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz))]
}
