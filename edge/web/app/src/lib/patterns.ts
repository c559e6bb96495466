// Patterns as text (docs/formats/idf.md), as far as a page has to know what they match.
import { namesOf } from './api'

/** The names that an entity must have, from the memory down; undefined where only the server knows whether one matches. */
export type Levels = (string | undefined)[]

/** What is certain of a pattern as text. */
export function levelsOf(text: string): Levels {
  const parts = text.match(/(?:\\[^]|[^/\\])+/g) ?? []
  return parts.map((part, i) => (/^[*~]/.test(part) || (i === 0 && part.includes(':')) ? undefined : namesOf(part)[0]))
}

/** Whether what has these names, or something below it, may match. */
export const mayMatch = (levels: Levels, names: string[]): boolean =>
  levels.every((level, i) => level === undefined || names[i] === undefined || level === names[i])
