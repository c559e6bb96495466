import assert from 'node:assert/strict'
import { copyFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { shot, step, test } from './browser.mjs'

const camera = 'Vision/ImageRGB/Simulation/head_camera'

await test(async (open) => {
  const page = await open()
  const save = async (query, ready) => {
    await page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)
    await page.waitForFunction(ready)
    await page.keyboard.press('Control+k')
    await page.getByLabel('Search names, times, texts and commands').fill('save this view as a page')
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    assert.match(download.suggestedFilename(), /\.html$/)
    const file = await download.path()
    await copyFile(file, `${file}.html`)
    // Without scripts: nothing is done, and nothing is asked for.
    const saved = await open(pathToFileURL(`${file}.html`).href, { offline: true })
    assert.equal(await saved.locator('script').count(), 0)
    await saved.getByText('kept by Engram').waitFor()
    await saved.getByRole('navigation').getByText('Vision').first().waitFor()
    return saved
  }
  const loaded = (img) => img.complete && img.naturalWidth > 0

  const scene = await save({ view: 'scene' }, () => Number(document.querySelector('[role=tabpanel] canvas')?.dataset.calls) > 5)
  const picture = scene.locator('[role=tabpanel] img').first()
  await picture.waitFor()
  const colours = await picture.evaluate((img) => {
    const c = document.createElement('canvas')
    c.width = img.naturalWidth
    c.height = img.naturalHeight
    const x = c.getContext('2d')
    x.drawImage(img, 0, 0)
    const d = x.getImageData(0, 0, c.width, c.height).data
    return new Set(new Uint32Array(d.buffer)).size
  })
  assert.ok(colours > 20, `the picture of the scene has ${colours} colours`)
  await shot(scene, 'saved-scene')

  step('images')
  const images = await save({ view: 'images', sel: camera }, () => [...document.querySelectorAll('[role=tabpanel] img')].some((i) => i.complete && i.naturalWidth))
  for (const img of await images.locator('[role=tabpanel] img').all()) assert.ok(await img.evaluate(loaded))
  await images.getByText(camera.split('/').pop()).first().waitFor()
  step('link')
  // Back to the living page, at the time of the picture.
  const link = await images.getByRole('link', { name: 'Open in the live page' }).getAttribute('href')
  assert.match(link, /at=.*view=images/)
  await shot(images, 'saved-images')
})
