import { server } from '../data.svelte'

/** Copies a text, and says so; where the browser does not let the page, the text is told. */
export async function copy(text: string, what: string) {
  try {
    await navigator.clipboard.writeText(text)
    server.tell(`${what} was copied.`)
  } catch {
    server.alert({ key: 'copy', kind: 'warning', text: `The browser does not let the page copy. ${what} is: ${text.slice(0, 2000)}` })
  }
}
