/** How many pages of a server may hold a stream: a browser opens six connections to a server for all its pages. */
const most = 3
/** How often a page says that it wants a stream, and for how long that holds, ms. */
const every = 1000
const holds = 5000

interface Says {
  page: string
  wants: boolean
  /** It does not know of the others yet. */
  asks?: boolean
}

/** Settles which of the pages of a server in a browser hold a stream: of those that want one, the oldest. */
export class Turns {
  /** Whether it is this page's turn; undefined as long as that is not known. */
  mine?: boolean
  #wants = false
  #timer?: ReturnType<typeof setInterval>
  #first?: ReturnType<typeof setTimeout>
  readonly #page = `${Math.round(performance.timeOrigin)} ${Math.random()}`
  readonly #channel = new BroadcastChannel('engram stream')
  readonly #others = new Map<string, number>()

  constructor(private readonly changed: () => void) {
    this.#channel.onmessage = ({ data }: MessageEvent<Says>) => {
      if (data.wants) this.#others.set(data.page, performance.now())
      else this.#others.delete(data.page)
      if (data.asks && this.#wants) this.#say()
      this.#decide()
    }
  }

  want(wants: boolean) {
    if (wants === this.#wants) return
    this.#wants = wants
    this.mine = undefined
    clearInterval(this.#timer)
    clearTimeout(this.#first)
    this.#first = undefined
    this.#say(wants)
    if (!wants) return
    this.#first = setTimeout(() => {
      this.#first = undefined
      this.#decide()
    }, 50)
    this.#timer = setInterval(() => {
      this.#say()
      this.#decide()
    }, every)
  }

  #say(asks = false) {
    this.#channel.postMessage({ page: this.#page, wants: this.#wants, asks } satisfies Says)
  }

  #decide() {
    if (!this.#wants || this.#first !== undefined) return
    const now = performance.now()
    for (const [page, heard] of this.#others) if (now - heard > holds) this.#others.delete(page)
    const mine = [...this.#others.keys()].filter((page) => page < this.#page).length < most
    if (mine === this.mine) return
    this.mine = mine
    this.changed()
  }
}
