// A view as one HTML file: what the screen shows, with its styles and pictures. It opens without a server.
import { theme } from './theme.svelte'

/** Has what is drawn by WebGL drawn at once, so that it can be read. */
export const drawEvent = 'engram:draw'

/** The page as it is, as one file; the heading says so, with a link to the view in the live page. */
export function pageFile(title: string, link: string): Blob {
  const root = document.documentElement.cloneNode(true) as HTMLElement
  pictures(root)
  fields(root)
  scrolled(root)
  // How long ago something was is true while one looks; what is saved has times instead, or nothing where one is told already.
  root.querySelectorAll<HTMLElement>('[data-saved]').forEach((e) => (e.dataset.saved ? (e.textContent = e.dataset.saved) : e.remove()))
  root.querySelectorAll('script, link, style, dialog, base').forEach((e) => e.remove())

  const head = root.querySelector('head')!
  head.querySelectorAll('meta[http-equiv]').forEach((e) => e.remove())
  const policy = document.createElement('meta')
  policy.httpEquiv = 'Content-Security-Policy'
  policy.content = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
  const styles = document.createElement('style')
  styles.textContent = [...document.styleSheets].flatMap((s) => [...s.cssRules].map((r) => r.cssText)).join('\n')
  root.dataset.theme = theme.dark ? 'dark' : 'light' // as pictures have its colours
  head.prepend(policy)
  head.append(styles)
  root.querySelector('title')!.textContent = title

  const says = document.createElement('p')
  says.textContent = `${title} `
  says.style.flex = '1'
  const to = document.createElement('a')
  to.href = link
  to.textContent = 'Open in the live page'
  says.append(to)
  root.querySelector('header .search')?.replaceWith(says)
  root.querySelector('header .state')?.remove()
  return new Blob(['<!doctype html>\n', root.outerHTML], { type: 'text/html' })
}

/** Gives canvases and images what they show, as data. */
function pictures(root: HTMLElement) {
  dispatchEvent(new Event(drawEvent))
  const images = [...root.querySelectorAll('img')]
  const canvases = [...root.querySelectorAll('canvas')]
  document.querySelectorAll('img').forEach((img, i) => {
    const canvas = document.createElement('canvas')
    canvas.width = img.naturalWidth
    canvas.height = img.naturalHeight
    canvas.getContext('2d')?.drawImage(img, 0, 0)
    images[i]!.src = img.naturalWidth ? canvas.toDataURL() : ''
  })
  document.querySelectorAll('canvas').forEach((canvas, i) => {
    const copy = canvases[i]!
    const img = document.createElement('img')
    img.className = copy.className
    img.style.cssText = copy.style.cssText
    img.alt = copy.getAttribute('aria-label') ?? ''
    const style = getComputedStyle(canvas) // by rules for canvases
    for (const p of ['position', 'left', 'top', 'display', 'pointer-events']) img.style.setProperty(p, style.getPropertyValue(p))
    const box = canvas.getBoundingClientRect()
    img.style.width = `${box.width}px`
    img.style.height = `${box.height}px`
    if (canvas.width && canvas.height) img.src = canvas.toDataURL()
    copy.replaceWith(img)
  })
}

/** Writes what fields hold into their attributes. */
function fields(root: HTMLElement) {
  const copies = root.querySelectorAll('input, textarea, option')
  document.querySelectorAll('input, textarea, option').forEach((f, i) => {
    const copy = copies[i]!
    if (f instanceof HTMLOptionElement) copy.toggleAttribute('selected', f.selected)
    else if (f instanceof HTMLTextAreaElement) copy.textContent = f.value
    else if (f instanceof HTMLInputElement) {
      copy.toggleAttribute('checked', f.checked)
      copy.setAttribute('value', f.value)
    }
  })
  root.querySelectorAll('input, textarea, select, button:not(:has(img))').forEach((e) => e.toggleAttribute('disabled', true))
}

/** Shows the same part of what is scrolled. */
function scrolled(root: HTMLElement) {
  const copies = root.querySelectorAll<HTMLElement>('*')
  document.documentElement.querySelectorAll('*').forEach((e, i) => {
    if (!e.scrollTop && !e.scrollLeft) return
    const copy = copies[i]!
    copy.style.overflow = 'hidden'
    for (const child of copy.children) (child as HTMLElement).style.translate = `${-e.scrollLeft}px ${-e.scrollTop}px`
  })
}
