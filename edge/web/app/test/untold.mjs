import { address, ask, step, test } from './browser.mjs'

await test(
  async (open) => {
    step('Without the right to subscribe there are values, but no word of changes. They are looked for, and why is told.')
    const first = await ask('say')
    const page = await open(`${address}/?sel=Speech/Text/p/said#token=${await ask('token')}`)
    const inspector = page.getByRole('complementary')
    await inspector.getByText(first).waitFor()
    await ask('talk')
    await page.getByRole('status').getByText(/Not all changes are told to this page.*Speech\/Text\/p.*right "subscribe"/).waitFor()
    for (let i = 0; i < 3; i++) {
      const now = await inspector.getByText(/sentence \d+\./).first().textContent()
      await page.waitForFunction((text) => !document.querySelector('aside').textContent.includes(text), now)
    }

    step('What one may not do is told of as long as one may not.')
    await page.route(/view.density/, (route) => route.fulfill({ status: 403, json: { code: 'forbidden', message: 'no rule lets "guest" do this' } }))
    await page.getByRole('status').getByText(/You may not do this: no rule lets "guest" do this/).waitFor()
    await page.unroute(/view.density/)
    await page.getByRole('status').getByText(/You may not do this/).waitFor({ state: 'detached' })
  },
  // The server has no checks here, and what is refused above.
  { expected: [/^404: .*\/readyz/, /^403: .*density/] },
)
