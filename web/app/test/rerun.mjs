// Rerun's viewer opens a recording, and asks nobody but the server that it comes from.
import { shot, step, test } from './browser.mjs'

await test(async (open) => {
  step('opening the recording')
  const page = await open()
  await page.waitForFunction(() => !document.title.startsWith('opening'))
  const title = await page.title()
  if (title !== 'Engram in Rerun') throw new Error(title)
  step('looking at it')
  await page.locator('canvas').waitFor()
  await shot(page, 'rerun')
})
