// Colours of the page for what is drawn on canvases.

/** The colour that a variable of app.css stands for in the present theme. */
export function themed(e: HTMLElement, name: string): string {
  const before = e.style.color
  e.style.color = `var(--${name})`
  const colour = getComputedStyle(e).color
  e.style.color = before
  return colour
}

/** Whether the theme is dark; it tells of changes. */
export const theme = matchMedia('(prefers-color-scheme: dark)')
