// What is amiss, and what to do: all that is told above the views, but for a lost connection (data.svelte.ts).
import { entityOf, onOutcome, said } from './lib/api'
import { server, stream, tree } from './data.svelte'

// How often it is looked, ms.
const every = 5000
// How many refused calls are told.
const mostDenied = 20

/** Looks for troubles. To be called once. */
export function followTroubles(): () => void {
  const abort = new AbortController()
  let timer: ReturnType<typeof setTimeout>
  const looks = [checks, refusals, slowness()]
  const turn = async () => {
    if (!document.hidden && server.connected) {
      for (const look of looks) {
        try {
          await look(abort.signal)
        } catch (e) {
          if (!abort.signal.aborted) console.warn(`Troubles cannot be looked for: ${said(e)}`)
        }
      }
    }
    if (!abort.signal.aborted) timer = setTimeout(turn, every)
  }
  timer = setTimeout(turn, 1000)

  const denied = new Map<string, string>()
  const unreadable = new Map<string, string>()
  onOutcome((o) => {
    if (o.kind === 'denied' || o.kind === 'allowed') {
      if (!denied.delete(o.of) && o.kind === 'allowed') return
      if (o.kind === 'denied') denied.set(o.of, o.why)
      const [oldest] = denied.keys()
      if (oldest === undefined) return server.well('rights')
      if (denied.size > mostDenied) denied.delete(oldest)
      server.alert({
        key: 'rights',
        kind: 'warning',
        text: denied.size === 1 ? `You may not do this: ${[...denied.values()][0]}` : `${denied.size} things of this page you may not do.`,
        hint: 'The rules of the server say so; “engram auth check NAME …” tells which (docs/security.md).',
        more: [...denied].map(([of, why]) => `${of}: ${why}`),
      })
      return
    }
    const entity = entityOf(o.of) || o.of
    if (o.kind === 'unreadable') unreadable.set(entity, o.why)
    else if (!unreadable.delete(entity)) return
    if (unreadable.size === 0) return server.well('unreadable')
    const more = [...unreadable].map(([id, why]) => `${id}: ${why}`)
    server.alert({
      key: 'unreadable',
      kind: 'warning',
      text: more.length === 1 ? `What an entity says cannot be read: ${more[0]}` : `What ${more.length} entities say cannot be read.`,
      hint: 'Whoever commits it has to be mended.',
      more: more.length === 1 ? undefined : more,
    })
  })
  return () => {
    clearTimeout(timer)
    abort.abort()
  }
}

let failing: string[] = []

/** What the server itself says does not work: recording, the disk, the backbone, copies. */
async function checks(signal: AbortSignal) {
  const r = await fetch('/readyz', { signal })
  if (r.status !== 200 && r.status !== 503) return
  const { checks = [] } = (await r.json()) as { checks?: { check: string; status: string; reason?: string }[] }
  const bad = checks.filter((c) => c.status !== 'ok')
  for (const key of failing) if (!bad.some((c) => c.check === key)) server.well(`check ${key}`)
  failing = bad.map((c) => c.check)
  for (const c of bad) {
    server.alert({ key: `check ${c.check}`, kind: c.status === 'failed' ? 'error' : 'warning', text: `${c.check}: ${c.reason ?? c.status}`, hint: '“engram doctor” says what to do.' })
  }
}

/** Updates that memories have refused since the page was opened: unreadable ones, and others. */
async function refusals() {
  const all = tree.refused()
  const sum = all.reduce((n, one) => n + one.count, 0n)
  if (sum === 0n) return server.well('refused')
  server.alert({
    key: 'refused',
    kind: 'warning',
    text: sum === 1n ? `An update of ${all[0]!.id} was refused, and is not in the memory.` : `${sum} updates were refused, and are not in the memory.`,
    hint: 'They could not be read, were too large, or not allowed: whoever commits them is told why.',
    more: sum === 1n ? undefined : all.map((one) => `${one.id}: ${one.count}`),
  })
}

/** Whether the page keeps up with what changes. The server leaves out what it cannot take, and only that. */
function slowness() {
  let got = 0
  let skipped = 0
  let slow = 0
  return async () => {
    const now = { got: stream.got - got, skipped: stream.skipped - skipped }
    got = stream.got
    skipped = stream.skipped
    slow = now.skipped > 100 && now.skipped > now.got ? slow + 1 : 0
    if (slow < 3) return slow === 0 ? server.well('slow') : undefined
    server.alert({
      key: 'slow',
      kind: 'warning',
      text: 'This page is too slow for all that changes: it shows the newest, and leaves out what is between.',
      hint: 'Nothing is lost in the memory. Select less, close other pages, or look over a faster connection.',
    })
  }
}
