// The views in the middle. Each is loaded when it is first looked at.
import type { Component } from 'svelte'

export interface Panel {
  id: string
  name: string
  what: string
  load: () => Promise<{ default: Component }>
}

export const panels: Panel[] = [
  { id: 'table', name: 'Table', what: 'What there is, as rows', load: () => import('./Table.svelte') },
  { id: 'diff', name: 'Diff', what: 'What changed', load: () => import('./Diff.svelte') },
]
