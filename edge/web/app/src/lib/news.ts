/** Times by entity. */
export type News = Map<string, bigint>

/** What changed: entities, with the times of the newest and of the oldest snapshot that came of each. */
export class Changes {
  readonly newest: News = new Map()
  readonly oldest: News = new Map()

  note(entity: string, t: bigint) {
    const [last, first] = [this.newest.get(entity), this.oldest.get(entity)]
    if (last === undefined || t > last) this.newest.set(entity, t)
    if (first === undefined || t < first) this.oldest.set(entity, t)
  }
}
