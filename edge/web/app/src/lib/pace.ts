/** How long a task may hold up the page, in ms, before others get their turn. */
const most = 12

/** Lets what is done in a loop make room for input and frames now and then. */
export class Pace {
  #since = performance.now()

  /** To be awaited in each turn of a loop. */
  async rest() {
    if (performance.now() - this.#since < most) return
    await new Promise((done) => setTimeout(done))
    this.#since = performance.now()
  }
}
