// A recording of another day: the page says where it is, and leads there.
import { address, step, test } from './browser.mjs'

await test(async (open) => {
  const page = await open(`${address}/?view=table`)
  step('the newest is told, and a click goes there')
  await page.getByRole('status').getByText(/The newest of what is remembered is of \d{4}-/).waitFor()
  await page.getByRole('button', { name: 'Go there' }).click()
  await page.waitForURL(/at=/)
  await page.getByRole('button', { name: 'Go there' }).waitFor({ state: 'detached' })
  step('it is played to its end, and no further')
  const end = new URL(page.url()).searchParams.get('at')
  await page.keyboard.press(',')
  await page.waitForURL((u) => u.searchParams.get('at') !== end)
  await page.getByRole('button', { name: 'Play', exact: true }).click()
  await page.waitForURL((u) => u.searchParams.get('at') === end)
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor()
  step('what was in force then is there')
  await page.getByRole('tabpanel').getByRole('button', { name: /./ }).first().waitFor()
  await page.getByRole('cell').first().waitFor()
})
