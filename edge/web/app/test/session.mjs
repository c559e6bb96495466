import assert from 'node:assert/strict'
import { address, ask, shot, step, test } from './browser.mjs'

const cup = 'Object/Instance/Simulation/cup'

await test(
  async (open) => {
    step('Without a token one sees the page, and nothing on it.')
    const nobody = await open(`${address}/?view=table`)
    await nobody.getByText(/does not let this browser look.*engram ui --as/).waitFor()
    await shot(nobody, 'session-none')
    assert.equal(await nobody.getByRole('treeitem').count(), 0)

    step('With one there are values, as far as one may; it is gone from the address.')
    const link = `${address}/?sel=${encodeURIComponent(cup)}&view=table#token=${await ask('token')}`
    const page = await open(link)
    await page.waitForURL((u) => u.hash === '')
    await page.getByRole('treeitem').filter({ hasText: 'Vision' }).first().waitFor()
    await page.getByRole('complementary').getByText('confidence').first().waitFor()
    assert.equal(await page.getByRole('treeitem').filter({ hasText: 'Speech' }).count(), 0)
    assert.equal(await page.evaluate(() => document.cookie), '')
    const [cookie] = await page.context().cookies()
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.name], [true, 'Strict', 'engram-' + new URL(address).port])
    await shot(page, 'session')

    step('Opened anew, without the token, it still knows who looks.')
    await page.reload()
    await page.getByRole('treeitem').filter({ hasText: 'Vision' }).first().waitFor()

    step('What one may not do is told of, with where the rules are.')
    await page.route(/view.density/, (route) => route.fulfill({ status: 403, json: { code: 'forbidden', message: 'no rule lets "guest" do this' } }))
    await page.reload()
    await page.getByRole('status').getByText(/You may not do this: no rule lets "guest" do this.*engram auth check/).waitFor()
    await page.unroute(/view.density/)
    await shot(page, 'session-rights')

    step('The same address is good once: whoever has seen it is not let in, and the first neither, who may be a thief.')
    const thief = await open(link)
    await thief.getByText(/used before/).waitFor()
    await thief.getByText(/does not let this browser look/).waitFor()
    await page.getByText(/does not let this browser look/).waitFor()
    await shot(thief, 'session-twice')
  },
  // What was under way when the session ended is given up.
  { expected: [/^(40[134]|499): /, /^console: ConnectError: \[(unauthenticated|canceled)\]/] },
)
