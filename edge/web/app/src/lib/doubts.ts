import { pieceJSON } from './api'

/** Why nothing satisfies a condition, of what matches a pattern, as far as types tell; else "". */
export const doubts = async (where: string, pattern: string, signal: AbortSignal) => {
  try {
    return (await pieceJSON<{ why: string }>('doubts', { where, pattern }, signal)).why
  } catch {
    return '' // That nothing satisfies it is right all the same.
  }
}
