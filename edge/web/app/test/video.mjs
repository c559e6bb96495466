import assert from 'node:assert/strict'
import { ask, shot, step, test } from './browser.mjs'

const film = 'Vision/ImageRGB/Film/camera'

await test(async (open) => {
  const page = await open()
  const go = async (query) => page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)
  const drawn = () => {
    const img = document.querySelector('[role=tabpanel] img')
    return img?.complete && img.naturalWidth === 320 && img.src
  }

  step('the newest frame is decoded')
  await go({ view: 'images', image: film })
  const newest = await (await page.waitForFunction(drawn)).jsonValue()
  await page.getByText('320 × 240 h264').waitFor()

  step('and that of a time, between two key frames')
  await page.evaluate((t) => history.pushState(null, '', `?view=images&image=Vision/ImageRGB/Film/camera&at=${t}`), await ask('time'))
  await page.evaluate(() => dispatchEvent(new PopStateEvent('popstate')))
  await page.waitForFunction((n) => document.querySelector('[role=tabpanel] img')?.src !== n, newest)
  await page.waitForFunction(drawn)
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'PNG' }).click()])
  assert.match(download.suggestedFilename(), /camera.*\.png$/)
  await shot(page, 'video')

  step('a browser that decodes no video is given images')
  const old = await open('about:blank')
  await old.addInitScript(() => delete globalThis.VideoDecoder)
  await old.goto(page.url())
  await old.waitForFunction(drawn)
  const same = (p) =>
    p.evaluate(async () => {
      const b = await createImageBitmap(document.querySelector('[role=tabpanel] img'))
      const c = new OffscreenCanvas(32, 24).getContext('2d')
      c.drawImage(b, 0, 0, 32, 24)
      return [...c.getImageData(0, 0, 32, 24).data]
    })
  const [a, b] = [await same(page), await same(old)]
  const off = a.reduce((n, v, i) => n + Math.abs(v - b[i]), 0) / a.length
  assert.ok(off < 8, `the pictures differ by ${off} on average`)
  const [still] = await Promise.all([old.waitForEvent('download'), old.getByRole('button', { name: 'PNG' }).click()])
  assert.match(still.suggestedFilename(), /camera.*\.png$/)
})
