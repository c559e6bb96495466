// A recording of another day: the page says where it is, and leads there.
import { address, step, test } from './browser.mjs'

await test(async (open) => {
  const page = await open(`${address}/?view=table`)
  step('the newest is told, and a click goes there')
  await page.getByRole('status').getByText(/The newest of what is remembered is of \d{4}-/).waitFor()
  await page.getByRole('button', { name: 'Go there' }).click()
  await page.waitForURL(/at=/)
  await page.getByRole('button', { name: 'Go there' }).waitFor({ state: 'detached' })
  step('it begins there, and is played to its end, and no further')
  const [begin, end] = new URL(page.url()).searchParams.get('range').split('..').map((t) => Date.parse(t))
  const at = () => Date.parse(new URL(page.url()).searchParams.get('at'))
  if (at() - begin > (end - begin) / 20) throw new Error(`not at the beginning: ${page.url()}`)
  await page.getByLabel('Speed').selectOption('60×')
  await page.getByRole('button', { name: 'Play', exact: true }).click()
  await page.getByText('This is the end of what is remembered.').waitFor()
  await page.waitForURL((u) => end - Date.parse(u.searchParams.get('at')) < (end - begin) / 20)
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor()
  step('what was in force then is there')
  await page.getByRole('tabpanel').getByRole('button', { name: /./ }).first().waitFor()
  await page.getByRole('cell').first().waitFor()
})
