// Recordings, as far as spans of time tell them apart.
import { SECOND } from './time'

/** Where nothing came for so long a recording ends. */
export const pause = 60n * SECOND

/** When the recording begins that ends at a time, by the spans of what is in it: those before a pause are of another one. */
export function beginOf(spans: [bigint, bigint][], end: bigint): bigint {
  let begin = end
  for (const [from, to] of spans.sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0))) {
    if (begin - to > pause) break
    if (from < begin) begin = from
  }
  return begin
}
