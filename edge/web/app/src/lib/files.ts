// Files that the page writes for its user.

/** What a file about an ID is called. */
export const fileName = (id: string, ending: string) => id.replace(/[^\p{L}\p{N}.-]+/gu, '_') + '.' + ending

/** Has the browser save something. */
export function save(blob: Blob, name: string) {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(blob)
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000)
}
