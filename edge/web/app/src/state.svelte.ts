// What is looked at: time, selection, tab, filter. All of it stands in the address, so that a link opens the same view.
import { now } from 'engram-client'
import { createContext } from 'svelte'
import { entityOf, idOf, namesOf } from './lib/api'
import { parse, rfc3339, timeIn, within } from './lib/time'
import { panels } from './panels'

class Clock {
  /** How far the server's clock is ahead of the browser's, in ns. */
  ahead = 0n
  /** The server's time, as of the last tick. */
  now = $state(BigInt(Date.now()) * 1_000_000n)

  read(): bigint {
    return now() + this.ahead
  }
}

export const clock = new Clock()

class View {
  /** The newest is shown, and what comes; else what was in force at t. */
  live = $state(true)
  t = $state(0n)
  playing = $state(false)
  speed = $state(1)
  loop = $state(false)
  /** As it was known at this time. */
  asOf = $state<bigint | undefined>(undefined)
  /** The ID that is selected: of an entity, a snapshot, or something above. */
  sel = $state('')
  /** The time of the snapshot that was asked for by its ID. */
  linked = $state<bigint | undefined>(undefined)
  tab = $state('scene')
  /** The tabs of the views beside that, three at most. */
  beside = $state<string[]>([])
  filter = $state('')
  /** Only the views are shown, without what is left and right of them. */
  wide = $state(false)
  /** What the timeline shows; undefined follows the newest. */
  range = $state<[bigint, bigint] | undefined>(undefined)
  /** What is played again and again, with loop. */
  span = $state<[bigint, bigint] | undefined>(undefined)
  /** What panels keep in the address. */
  extra = $state<Record<string, string>>({})

  /** Times in the address that cannot be read. */
  unreadable = $state<string[]>([])

  /** Views in the address that there are not. */
  unknown = $state<string[]>([])

  #again = $state(0)

  /** Counts how often all views were asked to ask again. */
  get again(): number {
    return this.#again
  }

  /** Has all views ask again for what they show: the server is another one, or back. */
  refresh() {
    this.#again++
  }

  /** The time that is asked for; undefined is the newest. */
  get at(): bigint | undefined {
    void this.#again
    return this.live ? undefined : this.t
  }

  /** The time that is shown. */
  get shown(): bigint {
    return this.live ? clock.now : this.t
  }

  get entity(): string {
    return entityOf(this.sel)
  }

  /** Live is what is known now. */
  goLive() {
    if (this.unreadable.length) this.unreadable = []
    this.live = true
    this.asOf = undefined
    this.playing = false
    this.loop = false
  }

  /** Shows what was in force at a time, and stays there. */
  seek(t: bigint) {
    if (this.live) this.playing = false
    if (this.unreadable.length) this.unreadable = []
    this.live = false
    this.t = within(t)
  }

  /** Shows what was known at a time; undefined is all that is known now. */
  believe(t: bigint | undefined) {
    if (t !== undefined && this.live) this.seek(this.shown)
    this.asOf = t
  }

  /** Selects what an ID names. That of a snapshot selects its entity at its time. */
  select(id: string, how?: { at?: bigint; tab?: string }) {
    const names = namesOf(id)
    const at = how?.at ?? timeIn(names)
    this.sel = names.length > 4 ? entityOf(id) : idOf(names)
    if (at !== undefined) this.seek(at)
    this.linked = timeIn(names)
    if (how?.tab) this.open(how.tab)
  }

  set(key: string, value: string | undefined) {
    const next = { ...this.extra }
    if (value) next[key] = value
    else delete next[key]
    this.extra = next
  }

  /** Shows one more view beside the others. */
  add(tab: string) {
    if (this.beside.length < panes.length - 1) this.beside = [...this.beside, tab]
  }

  /** Shows a view, if none of those that are shown is it. */
  open(tab: string): Pane {
    const shown = panes.slice(0, 1 + this.beside.length).find((p) => p.tab === tab)
    if (!shown) this.tab = tab
    return shown ?? panes[0]!
  }

  /** Closes one of several views; those behind it move up, with what they keep. */
  close(at: number) {
    const tabs = [this.tab, ...this.beside]
    tabs.splice(at, 1)
    const extra: Record<string, string> = {}
    for (const [k, v] of Object.entries(this.extra)) {
      const [, key, n] = /^(.*?)(?:\.(\d))?$/.exec(k)!
      const of = n ? Number(n) - 1 : 0
      if (of !== at) extra[keyOf(key!, of > at ? of - 1 : of)] = v
    }
    this.extra = extra
    this.tab = tabs[0] ?? 'scene'
    this.beside = tabs.slice(1)
  }

  /** The address of this view, at a time if one is given. */
  address(at = this.at): string {
    const q = new URLSearchParams()
    if (at !== undefined) q.set('at', rfc3339(at))
    if (this.asOf !== undefined) q.set('asof', rfc3339(this.asOf))
    if (this.sel) q.set('sel', this.sel)
    if (this.tab !== 'scene') q.set('view', this.tab)
    if (this.beside.length) q.set('beside', this.beside.join(','))
    if (this.wide) q.set('wide', '1')
    if (this.filter) q.set('q', this.filter)
    if (this.range) q.set('range', this.range.map(rfc3339).join('..'))
    if (this.loop && this.span) q.set('loop', this.span.map(rfc3339).join('..'))
    for (const [k, v] of Object.entries(this.extra)) q.set(k, v)
    const text = q.toString()
    return text ? `?${text}` : location.pathname
  }

  read(search: string) {
    const q = new URLSearchParams(search)
    const unreadable: string[] = []
    const time = (text: string | null | undefined) => {
      if (!text || text === 'live') return undefined
      const t = parse(text, clock.read())
      if (t === undefined) unreadable.push(text)
      return t
    }
    const names = namesOf(q.get('sel') ?? '')
    this.linked = timeIn(names)
    this.sel = idOf(names.slice(0, 4))
    const at = time(q.get('at')) ?? this.linked
    this.asOf = time(q.get('asof'))
    this.playing = false
    this.live = at === undefined && this.asOf === undefined && !unreadable.length
    if (at !== undefined) this.t = at
    else if (!this.live) this.t ||= clock.read() // Not live: the address says a time, if a wrong one, or as of which.
    this.tab = q.get('view') ?? 'scene'
    this.beside = (q.get('beside') ?? '').split(',').filter(Boolean).slice(0, panes.length - 1)
    this.wide = q.has('wide')
    this.filter = q.get('q') ?? ''
    const between = (text: string | null): [bigint, bigint] | undefined => {
      const [from, to] = (text ?? '').split('..').map(time)
      return from !== undefined && to !== undefined && from < to ? [from, to] : undefined
    }
    this.range = between(q.get('range'))
    this.span = between(q.get('loop'))
    this.loop = this.span !== undefined
    this.unreadable = unreadable
    for (const own of ['at', 'asof', 'sel', 'view', 'beside', 'wide', 'q', 'range', 'loop']) q.delete(own)
    this.extra = Object.fromEntries(q)
    const tabs = [this.tab, ...this.beside]
    const isThere = (tab: string) => panels.some((p) => p.id === tab)
    this.unknown = tabs.filter((tab) => !isThere(tab))
    for (let i = tabs.length - 1; i >= 0; i--) if (!isThere(tabs[i]!)) this.close(i)
  }
}

/** What a view keeps in the address: the first one under its name, others with their number. */
const keyOf = (key: string, at: number) => (at ? `${key}.${at + 1}` : key)

/** One of the views that are shown beside each other. */
export class Pane {
  constructor(readonly at: number) {}

  get tab(): string {
    return (this.at ? view.beside[this.at - 1] : view.tab) ?? 'scene'
  }
  set tab(id: string) {
    if (this.at) view.beside = view.beside.map((t, i) => (i === this.at - 1 ? id : t))
    else view.tab = id
  }

  get(key: string): string | undefined {
    return view.extra[keyOf(key, this.at)]
  }
  set(key: string, value: string | undefined) {
    view.set(keyOf(key, this.at), value)
  }
}

/** All views there may be. */
export const panes = [0, 1, 2, 3].map((at) => new Pane(at))

/** The one that a component is in. */
export const [paneOf, setPane] = createContext<Pane>()

export const view = new View()
view.read(location.search)

/** Keeps the address in step; back and forward go from one selection or tab to another. To be called once. */
export function followAddress() {
  const now = () => ({ sel: view.sel, tabs: [view.tab, ...view.beside].join(), live: view.live })
  let last = now()
  let timer: ReturnType<typeof setTimeout> | undefined
  let pending: string | undefined
  const write = () => {
    if (pending !== undefined) history.replaceState(null, '', pending)
    pending = undefined
  }
  const stop = () => {
    clearTimeout(timer)
    timer = undefined
  }
  $effect(() => {
    const address = view.address()
    const is = now()
    const step = is.sel !== last.sel || is.tabs !== last.tabs || is.live !== last.live
    last = is
    if (step) {
      stop()
      write()
    }
    if (address === location.search || (address === location.pathname && !location.search)) {
      pending = undefined
    } else if (step) {
      history.pushState(null, '', address)
    } else {
      pending = address
      // Browsers refuse to note each step of a scrubber.
      timer ??= setTimeout(() => {
        timer = undefined
        write()
      }, 500)
    }
  })
  addEventListener('popstate', () => {
    stop()
    pending = undefined
    view.read(location.search)
    last = now()
  })
}

/**
 * Has time go on: the clock's, and what is played, up to an end if there is one; then it is told. Returns what ends it.
 */
export function followTime(plays: boolean, end: () => bigint | undefined, ended: () => void): () => void {
  let before = performance.now()
  let next: ReturnType<typeof setTimeout>
  const step = () => {
    const now = performance.now()
    const passed = now - before
    before = now
    clock.now = clock.read()
    if (plays) {
      let t = view.t + BigInt(Math.round(passed * view.speed * 1e6))
      if (view.loop && view.span && (t >= view.span[1] || t < view.span[0])) t = view.span[0]
      const last = end()
      if (t >= clock.now) view.goLive()
      else if (last !== undefined && t > last && !view.loop) {
        view.t = view.t > last ? view.t : last
        view.playing = false
        ended()
      }
      else view.t = t
    }
    // Four times a second is enough for what nobody plays.
    next = setTimeout(step, plays ? 33 : 250)
  }
  step()
  return () => clearTimeout(next)
}
