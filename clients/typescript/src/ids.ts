// IDs as text: robot:memory/core segment/provider segment/entity/time/instance (docs/formats/idf.md).

/** The ID of names, from the memory down. A name with a slash or a backslash is written with backslashes. */
export const idOf = (names: readonly string[]): string => names.map((n) => n.replace(/[\\/]/g, '\\$&')).join('/')

/** The names of an ID, from the memory down; that of the memory without the robot if it is `own`. */
export function namesOf(id: string, own = ''): string[] {
  if (own && id.startsWith(own + ':')) id = id.slice(own.length + 1)
  const names: string[] = []
  let name = ''
  for (let i = 0; i < id.length; i++) {
    if (id[i] === '\\' && i + 1 < id.length) name += id[++i]
    else if (id[i] === '/') {
      names.push(name)
      name = ''
    } else name += id[i]
  }
  return [...names, name]
}

/** The robot whose memory an ID is in; "" is that of the server. */
export const robotOf = (id: string): string => /^([^:/\\]*):/.exec(id)?.[1] ?? ''

/** The entity of the ID of a snapshot, an instance, or an entity; "" of one of a segment. */
export function entityOf(id: string, own = ''): string {
  const names = namesOf(id, own)
  return names.length < 4 ? '' : idOf(names.slice(0, 4))
}

/** The text of a pattern that matches what has the ID, and nothing else. */
export const exactly = (id: string, own = ''): string =>
  namesOf(id, own)
    .map((n) => idOf([n]).replace(/^[*~]/, '\\$&'))
    .join('/')

/** A text as a regular expression that matches it. */
export const quoteRegex = (text: string): string => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&')
