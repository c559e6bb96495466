// The views in the middle. Each is loaded when it is first looked at.
import type { Component } from 'svelte'

export interface Panel {
  id: string
  name: string
  what: string
  load: () => Promise<{ default: Component }>
}

export const panels: Panel[] = [
  { id: 'scene', name: '3D', what: 'What is where', load: () => import('./Scene.svelte') },
  { id: 'images', name: 'Images', what: 'What the cameras see', load: () => import('./Images.svelte') },
  { id: 'plots', name: 'Plots', what: 'Numbers over time', load: () => import('./Plots.svelte') },
  { id: 'world', name: 'World', what: 'The items of the world and where they are', load: () => import('./World.svelte') },
  { id: 'table', name: 'Table', what: 'What there is, as rows', load: () => import('./Table.svelte') },
  { id: 'diff', name: 'Diff', what: 'What changed', load: () => import('./Diff.svelte') },
]
