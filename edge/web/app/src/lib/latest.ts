/**
 * Runs one task at a time: while one runs, only the newest of those that are asked for meanwhile waits. So who asks
 * faster than the server answers sees fewer answers, and nothing piles up. Between tasks half as much time is left as one
 * takes, for the rest of the page and of the machine; not before one with another key, which somebody waits for.
 */
export class Latest {
  #waiting?: { task: (signal: AbortSignal) => Promise<void>; key?: string }
  #running?: string
  #abort?: AbortController

  /** Runs a task. With a key, such as the selection, what runs with another one is given up: nobody wants it any more. */
  run(task: (signal: AbortSignal) => Promise<void>, key?: string) {
    this.#waiting = { task, key }
    if (!this.#abort) void this.#work()
    else if (key !== undefined && key !== this.#running) this.#abort.abort()
  }

  /** Gives up what runs and what waits. */
  stop() {
    this.#waiting = undefined
    this.#abort?.abort()
  }

  async #work() {
    while (this.#waiting) {
      const { task, key } = this.#waiting
      this.#waiting = undefined
      this.#running = key
      this.#abort = new AbortController()
      const begun = performance.now()
      try {
        await task(this.#abort.signal)
      } catch (e) {
        if (!this.#abort.signal.aborted) console.error(e)
      }
      if (this.#abort.signal.aborted) continue
      const took = performance.now() - begun
      if (took > 16) await pause(Math.min(took / 2, 250), this.#abort.signal)
      // A page that is not looked at waits here.
      await new Promise((done) => requestAnimationFrame(done))
    }
    this.#abort = undefined
  }
}

/** Waits for so many ms, or until it is given up. */
const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      done()
    })
  })
