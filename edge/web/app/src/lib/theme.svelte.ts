// Light or dark, and colours of the page for what is drawn on canvases.

/** What somebody may choose; "system" is as the browser says. */
export const themes = ['system', 'light', 'dark'] as const
type Name = (typeof themes)[number]

const key = 'engram theme'
const system = matchMedia('(prefers-color-scheme: dark)')

function kept(): Name {
  try {
    return themes.find((t) => t === localStorage.getItem(key)) ?? 'system'
  } catch {
    return 'system' // The browser keeps nothing.
  }
}

/** The theme of the page, which the browser remembers. It tells of changes. */
class Theme extends EventTarget {
  chosen = $state<Name>(kept())

  constructor() {
    super()
    this.#apply()
    system.addEventListener('change', () => this.#apply())
  }

  get dark(): boolean {
    return this.chosen === 'system' ? system.matches : this.chosen === 'dark'
  }

  choose(name: Name) {
    this.chosen = name
    try {
      localStorage.setItem(key, name)
    } catch {
      // It is chosen as long as the page is open.
    }
    this.#apply()
  }

  #apply() {
    document.documentElement.dataset.theme = this.chosen
    this.dispatchEvent(new Event('change'))
  }
}

export const theme = new Theme()

/** The colour that a variable of app.css stands for in the present theme. */
export function themed(e: HTMLElement, name: string): string {
  const before = e.style.color
  e.style.color = `var(--${name})`
  const colour = getComputedStyle(e).color
  e.style.color = before
  return colour
}
