import assert from 'node:assert/strict'
import { shot, step, test } from './browser.mjs'

await test(
  async (open) => {
    const page = await open()
    const inspector = page.getByRole('complementary')
    const go = (query) => page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)

    step('Markup in names and payloads is text.')
    await go({ sel: 'Speech/Text/Evil/<img src=x onerror=alert(1)>', view: 'table' })
    await inspector.getByText('<script>').first().waitFor()
    await page.getByRole('tabpanel').getByText('<script>').first().waitFor()
    assert.equal(await page.locator('img[src="x"], main script, aside script').count(), 0)
    for (const view of ['diff', 'world', 'scene', 'images', 'plots', 'none of them']) {
      step(`… in the view ${view}.`)
      await go({ sel: 'Speech/Text/Evil/<img src=x onerror=alert(1)>', view })
      await page.getByRole('tabpanel').waitFor()
      await inspector.getByText('<script>').first().waitFor()
    }
    await shot(page, 'hostile')

    step('A text of 10 MB is cut, and the page answers.')
    await go({ sel: 'GeneralPurpose/Many/Evil/long', view: 'table' })
    await inspector.getByText('aaaaaaaa').first().waitFor()
    assert.ok((await inspector.textContent()).length < 5000)

    step('Numbers that are none, and deep values, are shown.')
    await go({ sel: 'Example/ExampleData/Evil/odd', view: 'diff' })
    await inspector.getByText('NaN').first().waitFor()

    step('Among 10,000 entities one is found, and the tree holds few of them.')
    await go({ sel: 'GeneralPurpose/Many/Crowd/entity-09999', view: 'table' })
    await page.getByRole('treeitem', { name: 'entity-09999' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('entity-0777')
    await page.getByRole('treeitem', { name: /entity-07770/ }).waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.press('Delete')
    await page.keyboard.press('Escape')
    await page.getByRole('treeitem', { name: /Crowd/ }).first().waitFor()
    const tree = page.getByRole('tree')
    for (let i = 0; i < 5; i++) await tree.evaluate((e) => e.scrollBy(0, 20_000))
    await page.getByRole('treeitem', { name: /entity-0[3-9]/ }).first().waitFor()
    assert.ok((await page.getByRole('treeitem').count()) < 100)
    await shot(page, 'many')
  },
  // A member that could be an image, and is none.
  { expected: [/^404: .*\/view\/image/] },
)
