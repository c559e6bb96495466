import { said } from './lib/api'
import { history, server } from './data.svelte'
import { view } from './state.svelte'

/** Goes to the previous or next snapshot of the entity that is selected. */
export async function step(by: 1 | -1) {
  try {
    await find(by)
    server.well('step')
  } catch (e) {
    server.alert({ key: 'step', kind: 'warning', text: `The ${by < 0 ? 'previous' : 'next'} snapshot cannot be found: ${said(e)}` })
  }
}

async function find(by: 1 | -1) {
  const entity = view.entity
  if (!entity) return
  const t = view.shown
  const signal = AbortSignal.timeout(5000)
  if (by < 0) {
    const [s] = await history(entity, { kind: { case: 'atOrBefore', value: t - 1n } }, view.asOf, signal)
    if (s) view.seek(s.time)
    return
  }
  // The next one is the first of a range; ranges grow until there is one.
  for (let width = 1_000_000_000n; width < 1_000_000_000_000_000n; width *= 30n) {
    const [s] = await history(entity, { kind: { case: 'range', value: { start: t + 1n, end: t + 1n + width } } }, view.asOf, signal)
    if (s) {
      view.seek(s.time)
      return
    }
  }
}
