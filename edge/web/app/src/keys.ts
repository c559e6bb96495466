// What keys do wherever the focus is, but in a field.
import { SECOND } from './lib/time'
import { step } from './steps'
import { view } from './state.svelte'

export const help: [string, string][] = [
  ['Ctrl K', 'search, go to a time, run a command'],
  ['/', 'filter the tree'],
  ['Space', 'play or pause'],
  ['← →', 'back or on by 100 ms; with Shift 10 ms, with Alt 500 ms'],
  ['Ctrl ← →', 'to the previous or next snapshot of what is selected'],
  ['End', 'live'],
  ['?', 'this list of keys'],
  ['W', 'only the views, or what is left and right of them, too'],
  ['Escape', 'leave a field'],
]

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
  const moves = e.key === 'ArrowLeft' ? -1n : e.key === 'ArrowRight' ? 1n : 0n
  if (moves && at.closest('[role=tree], [role=tablist]') && !e.ctrlKey) return
  if (moves && e.ctrlKey) {
    void step(moves > 0n ? 1 : -1)
  } else if (moves) {
    view.seek(view.shown + moves * (e.shiftKey ? SECOND / 100n : e.altKey ? SECOND / 2n : SECOND / 10n))
  } else if (e.key === ' ' && at.tagName !== 'BUTTON') {
    if (view.live) view.seek(view.shown)
    else view.playing = !view.playing
  } else if (e.key === 'End' && !at.closest('[role=tree]')) {
    view.goLive()
  } else if (e.key.toLowerCase() === 'w' && !e.ctrlKey && !e.metaKey && !e.altKey) {
    view.wide = !view.wide
  } else if (e.key === '?') {
    palette()
  } else if (e.key === '/') {
    document.getElementById('filter')?.focus()
  } else return
  e.preventDefault()
}
