/**
 * Runs one task at a time: while one runs, only the newest of those that are asked for meanwhile waits. So who asks
 * faster than the server answers sees fewer answers, and nothing piles up. Between tasks half as much time is left as one
 * takes, for the rest of the page and of the machine.
 */
export class Latest {
  #waiting?: (signal: AbortSignal) => Promise<void>
  #abort?: AbortController

  run(task: (signal: AbortSignal) => Promise<void>) {
    this.#waiting = task
    if (!this.#abort) void this.#work()
  }

  /** Gives up what runs and what waits. */
  stop() {
    this.#waiting = undefined
    this.#abort?.abort()
  }

  async #work() {
    while (this.#waiting) {
      const task = this.#waiting
      this.#waiting = undefined
      this.#abort = new AbortController()
      const begun = performance.now()
      try {
        await task(this.#abort.signal)
      } catch (e) {
        if (!this.#abort.signal.aborted) console.error(e)
      }
      const took = performance.now() - begun
      if (took > 16) await new Promise((done) => setTimeout(done, Math.min(took / 2, 250)))
      // A page that is not looked at waits here.
      await new Promise((done) => requestAnimationFrame(done))
    }
    this.#abort = undefined
  }
}
