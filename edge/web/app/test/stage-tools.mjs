// What tests of 3D share.
import assert from 'node:assert/strict'
import { place } from './browser.mjs'

export const stage = 'canvas.solid'

/** A figure that the scene's canvas tells: things, trails, calls, frames, uncertain. */
export const data = (page, name) => page.evaluate(([s, n]) => Number(document.querySelector(s)?.dataset[n] ?? 0), [stage, name])

export const more = (page, name, than) =>
  page.waitForFunction(([s, n, v]) => Number(document.querySelector(s)?.dataset[n] ?? 0) > v, [stage, name, than])

/** Waits until nothing is drawn any more. */
export const still = (page) =>
  page.evaluate(async (s) => {
    let before = -1
    for (let same = 0; same < 30; ) {
      await new Promise((done) => requestAnimationFrame(done))
      const now = document.querySelector(s).dataset.frames
      same = now === before ? same + 1 : 0
      before = now
    }
  }, stage)

/** Clicks here and there until an item of the world is selected, and returns its name. */
export async function clickAnItem(page) {
  const at = await place(page.locator(stage))
  for (let y = 0.2; y < 0.9; y += 0.05) {
    for (let x = 0.1; x < 0.9; x += 0.05) {
      await page.mouse.click(at.x + at.width * x, at.y + at.height * y)
      const sel = await page.evaluate(() => new URLSearchParams(location.search).get('sel') ?? '')
      if (/^(World\/Item|Object\/)/.test(sel)) return sel.split('/')[3]
    }
  }
  assert.fail('no click selects an item')
}

/** Which share of two pictures differs. */
export const differs = (page, a, b) =>
  page.evaluate(
    async (pictures) => {
      const [x, y] = await Promise.all(
        pictures.map(async (p) => {
          const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(p), (c) => c.charCodeAt(0))]))
          const c = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
          c.drawImage(bitmap, 0, 0)
          return c.getImageData(0, 0, bitmap.width, bitmap.height).data
        }),
      )
      let n = 0
      for (let i = 0; i < x.length; i += 4) n += [0, 1, 2].some((k) => Math.abs(x[i + k] - y[i + k]) > 40)
      return (4 * n) / x.length
    },
    [a, b].map((p) => p.toString('base64')),
  )
