// What keys do wherever the focus is, but in a field.
import { SECOND } from './lib/time'
import { step } from './steps'
import { view } from './state.svelte'

export const help: [string, string][] = [
  ['Ctrl K', 'search, go to a time, run a command'],
  ['/', 'filter the tree'],
  ['Space', 'play or pause'],
  ['← →', 'back or on by 100 ms; with Shift 10 ms'],
  [', .', 'back or on by 1 s'],
  ['Ctrl ← →', 'to the previous or next snapshot of what is selected'],
  ['End', 'live'],
  ['?', 'this list of keys'],
  ['W', 'only the views, or what is left and right of them, too'],
  ['Escape', 'leave a field'],
]

/** What has keys of its own: Space presses it. */
const pressed = 'a, button, summary, label, [role=button], [role=link], [role=checkbox], [role=switch], [role=radio], [role=option], [role=menuitem], [role=tab], [role=slider]'

export function keys(e: KeyboardEvent, palette: () => void) {
  if ((e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'k') {
    e.preventDefault()
    palette()
    return
  }
  const at = e.target as HTMLElement
  if (e.key === 'Escape' && at instanceof HTMLInputElement) {
    at.blur()
    return
  }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) || at.isContentEditable || at.closest('dialog')) return
  if (e.defaultPrevented || e.metaKey || e.altKey) return // The browser's: Alt or ⌘ with an arrow is back or forward.
  const moves = e.key === 'ArrowLeft' ? -1n : e.key === 'ArrowRight' ? 1n : 0n
  const moments = e.key === ',' ? -1n : e.key === '.' ? 1n : 0n
  if (moves && at.closest('[role=tree], [role=tablist]') && !e.ctrlKey) return
  if (moves && e.ctrlKey) {
    void step(moves > 0n ? 1 : -1)
  } else if (e.ctrlKey) {
    return
  } else if (moves || moments) {
    view.seek(view.shown + moments * SECOND + moves * (SECOND / (e.shiftKey ? 100n : 10n)))
  } else if (e.key === ' ') {
    if (at.closest(pressed)) return
    if (view.live) view.seek(view.shown)
    else view.playing = !view.playing
  } else if (e.key === 'End' && !at.closest('[role=tree]')) {
    view.goLive()
  } else if (e.key.toLowerCase() === 'w') {
    view.wide = !view.wide
  } else if (e.key === '?') {
    palette()
  } else if (e.key === '/') {
    document.getElementById('filter')?.focus()
  } else return
  e.preventDefault()
}
