import { atOrBefore, type Selector } from 'engram-client'
import { said } from './lib/api'
import { nextAfter } from './lib/next'
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
  const signal = AbortSignal.timeout(10_000)
  const one = async (select: Selector) => (await history(entity, select, view.asOf, signal))[0]?.time
  const found = by < 0 ? await one(atOrBefore(t - 1n)) : await nextAfter(t, one)
  if (found !== undefined) view.seek(found)
  else server.tell(`There is no snapshot ${by < 0 ? 'before' : 'after'} this time.`)
}
