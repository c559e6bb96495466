/** How high a row is, in pixels, as its style says. */
export const height = 22

/** Many rows below each other that are scrolled, of which only those on the screen are drawn. */
export class Rows<T> {
  top = $state(0)
  room = $state(600)
  box = $state<HTMLElement>()
  /** The first that is drawn. */
  readonly first = $derived(Math.max(0, Math.floor(this.top / height) - 5))
  readonly #all: () => T[]

  constructor(all: () => T[]) {
    this.#all = all
  }

  get shown(): T[] {
    return this.#all().slice(this.first, this.first + Math.ceil(this.room / height) + 10)
  }

  isDrawn(row: number): boolean {
    return row >= this.first && row < this.first + this.shown.length
  }

  scrolled = () => {
    this.top = this.box?.scrollTop ?? 0
  }

  /** Scrolls to a row that is not in sight. */
  reveal(row: number) {
    const y = row * height
    const { box } = this
    if (box && y >= 0 && (y < box.scrollTop || y > box.scrollTop + box.clientHeight - height)) box.scrollTop = y - box.clientHeight / 2
  }

  /** The row to which a key leads from another one, if there are any; undefined of other keys. */
  to(key: string, from: number): number | undefined {
    const page = Math.floor(this.room / height)
    const last = this.#all().length - 1
    const by: Record<string, number> = { ArrowDown: from + 1, ArrowUp: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: last }
    const row = by[key]
    return row === undefined ? undefined : Math.min(Math.max(row, 0), last)
  }
}
