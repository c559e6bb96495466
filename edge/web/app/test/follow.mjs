import assert from 'node:assert/strict'
import { address, ask, step, test } from './browser.mjs'

const query = '?sel=Speech/Text/p/said'
const inspector = (page) => page.getByRole('complementary')
const streams = (page) => {
  const open = new Set()
  const is = /MemoryService\/Subscribe/
  page.on('request', (r) => is.test(r.url()) && open.add(r))
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (r) => open.delete(r))
  return open
}
/** Waits until something is so. */
async function until(page, so) {
  while (!so()) await page.waitForTimeout(20)
}
const hide = (page, hidden) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }, hidden)

await test(
  async (open) => {
    step('Of many pages in one browser each loads, and each is told what changes; few hold a connection for it.')
    const said = await ask('say')
    const first = await open(address + '/' + query)
    const pages = [first]
    const held = [streams(first)]
    while (pages.length < 8) {
      const page = await first.context().newPage()
      held.push(streams(page))
      pages.push(page)
      await page.goto(address + '/' + query)
    }
    for (const page of pages) await inspector(page).getByText(said).waitFor()
    const next = await ask('say')
    for (const page of pages) await inspector(page).getByText(next).waitFor()
    await until(first, () => held.slice(1).reduce((n, s) => n + s.size, 0) <= 3)

    step('Pages that are hidden hold none, and leave theirs to those that are seen.')
    const [seen, own] = [pages.pop(), held.pop()]
    await Promise.all(pages.map((page) => hide(page, true)))
    await until(first, () => held.slice(1).every((s) => s.size === 0))
    await until(seen, () => own.size === 1)
    const later = await ask('say')
    await inspector(seen).getByText(later).waitFor()
    await hide(first, false)
    await inspector(first).getByText(later).waitFor()
    for (const page of [...pages.slice(1), seen]) await page.close()

    step('What matches a pattern as text is told, too; a text that is none stops nothing.')
    await first.goto(address + '/' + query + '&view=table&pattern=~Spe.*/Text&beside=table&pattern.2=~(')
    await first.getByRole('region', { name: /View 1/ }).getByText(later).waitFor()
    const then = await ask('say')
    await first.getByRole('region', { name: /View 1/ }).getByText(then).waitFor()
    await inspector(first).getByText(then).waitFor()
    await first.goto(address + '/' + query)

    step('Of many executions the newest are shown; of one that is new only that is fetched.')
    const page = first
    await page.locator('footer .names').getByText('skills, newest 500').waitFor()
    const fetched = page.waitForResponse((r) => /MemoryService\/Query/.test(r.url()) && r.request().postDataBuffer()?.includes('Execution'))
    await ask('act')
    const { length } = await (await fetched).body()
    assert.ok(length < 5000, `${length} bytes`)

    step('A time that cannot be read is told of, and is not taken for now; one before 1970 is one.')
    await page.goto(address + '/' + query + '&at=yesteryear')
    await page.getByRole('status').getByText(/time that cannot be read: yesteryear/).waitFor()
    await page.getByTestId('time').getByText(/^at /).waitFor()
    await page.goto(address + '/' + query + '&at=1960-05-01T12:00:00Z')
    await page.getByTestId('time').getByText(/^at 1960-05-01 12:00:00/).waitFor()
    await page.getByText(/Nothing was known of it at this time/).waitFor()

    step('What is ahead is told so; there is no snapshot after it; Space and arrows are those of what has the focus, and of the browser.')
    await page.goto(address + '/' + query + '&at=2200-01-01T00:00:00Z')
    await page.getByTestId('time').getByText(/ · in \d/).waitFor()
    await page.locator('body').press('Control+ArrowRight')
    await page.getByText('There is no snapshot after this time.').waitFor()
    const at = () => page.getByTestId('time').textContent()
    await page.goto(address + '/' + query + '&at=1960-05-01T12:00:00Z')
    await page.getByTestId('time').getByText(/12:00:00\.000/).waitFor()
    await page.locator('body').press('.')
    await page.getByTestId('time').getByText(/12:00:01\.000/).waitFor()
    for (const keys of ['Meta+ArrowRight', 'Alt+ArrowRight']) await page.locator('body').press(keys)
    await inspector(page).getByText('History').press(' ')
    await inspector(page).locator('details[open]').first().waitFor()
    assert.match(await at(), /12:00:01\.000/)
    await page.locator('body').press('Control+ArrowRight')
    await page.getByTestId('time').getByText(/^at \d\d:/).waitFor()

    step('The address follows while time is played, and what was shown last stands in it when one goes on.')
    await page.goto(address + '/' + query + '&at=2020-01-01T00:00:00Z')
    await page.getByTestId('time').getByText(/2020-01-01 00:00:00/).waitFor()
    await page.locator('body').press(' ')
    await page.waitForURL(/at=2020-01-01T00%3A00%3A0[1-9]/)
    await page.locator('body').press(' ')
    await page.getByRole('button', { name: 'Play' }).waitFor()
    const stopped = await at()
    await inspector(page).getByRole('button', { name: 'Speech' }).click()
    await page.waitForURL(/sel=Speech&|sel=Speech$/)
    await page.goBack()
    await inspector(page).getByRole('button', { name: 'said', exact: true }).waitFor()
    assert.equal((await at()).split(' · ')[0], stopped.split(' · ')[0])

    step('Where it is another time of day, times are typed and told so.')
    const there = await open(address + '/' + query, { timezoneId: 'America/New_York' })
    await there.getByRole('textbox', { name: 'Go to a time' }).fill('2026-03-08 14:00')
    await there.keyboard.press('Enter')
    await there.waitForURL(/at=2026-03-08T18%3A00%3A00Z/)
    await there.getByTestId('time').getByText(/^at 2026-03-08 14:00:00/).waitFor()
    await there.context().close()

    step('A server that is started anew is told of, each time, and what the one before knew is not shown any more.')
    const newest = await ask('say')
    await page.goto(address + '/' + query)
    await inspector(page).getByText(newest).waitFor()
    await page.locator('body').press(' ')
    await page.getByTestId('time').getByText(/^at /).waitFor()
    const anew = page.getByRole('status').getByText('The server was started anew.')
    for (let i = 0; i < 2; i++) {
      await ask('restart')
      await anew.waitFor()
      await inspector(page).getByText(newest).waitFor({ state: 'detached' })
      await page.getByRole('button', { name: /^Dismiss: The server was started anew/ }).click()
      await anew.waitFor({ state: 'detached' })
    }
  },
  // What was under way when the server went, or was given up.
  { expected: [/net::ERR_|Failed to fetch|canceled|aborted/, /^404: .*\/readyz/, /^400: .*Query/] },
)
