/** How long a task may hold up the page, in ms, before others get their turn. */
const most = 12

/** When what began at a time is done again: not more often than each so many ms, nor for more than a fifth of the time. */
export const due = (every: number, began: number) => began + Math.min(Math.max(every, 5 * (performance.now() - began)), 3000)

/** Waits until a time. */
export async function until(time: number) {
  const wait = time - performance.now()
  if (wait > 0) await new Promise((done) => setTimeout(done, wait))
}

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
