import { atOrBefore, latest, range, type Selector } from 'engram-client'
import { SECOND, within } from './time'

/** How much of an entity's history is read at once to find a snapshot: what is between two of them is found by halves. */
const readable = SECOND

/** The time of the first snapshot after a time; one gives that of the first one that is selected. */
export async function nextAfter(t: bigint, one: (s: Selector) => Promise<bigint | undefined>): Promise<bigint | undefined> {
  const near = await one(range(t + 1n, within(t + readable)))
  if (near !== undefined) return near
  let before = t + readable - 1n // and after t there is none
  let found = await one(latest())
  if (found === undefined || found <= before) return undefined
  while (found - before > readable) {
    const middle: bigint = (before + found) / 2n
    const then = await one(atOrBefore(middle))
    if (then !== undefined && then > before) found = then
    else before = middle
  }
  return (await one(range(before + 1n, found))) ?? found
}
