// What is recorded: its first and last image, what the robot did, what stands out; kept, trimmed and dropped, and asked
// before what cannot be undone.
import assert from 'node:assert/strict'
import { ask, shot, step, test } from './browser.mjs'

await test(
  async (open) => {
    const page = await open()
    await page.goto(new URL('?view=episodes', page.url()).href)
    const panel = page.getByRole('tabpanel')
    const row = panel.getByRole('row').filter({ has: page.getByRole('button', { name: 'Drop' }) }).first()

    step('The first and the last image, and the skills.')
    await row.getByRole('img', { name: /^First image of Vision/ }).waitFor()
    await row.getByRole('img', { name: /^Last image of Vision/ }).waitFor()
    await page.waitForFunction(() => [...document.querySelectorAll('[role=tabpanel] img')].every((i) => i.complete && i.naturalWidth > 0))
    const [first, last] = await row.getByRole('img').evaluateAll((all) => all.map((i) => i.src))
    assert.notEqual(first, last)
    assert.match(await row.textContent(), /\d(\.\d)? [kM]B/)

    step('What stands out.')
    await row.getByRole('button', { name: 'Details' }).click()
    await panel.getByRole('listitem').filter({ hasText: 'without humanoid' }).waitFor()
    await shot(page, 'ui-episodes')
    await page.emulateMedia({ colorScheme: 'dark' })
    await shot(page, 'episodes-dark')

    step('A part of it is kept; nothing is forgotten without a reason.')
    const snapshots = async () => Number((await row.locator('.snapshots').textContent()).replace(/\D/g, ''))
    const before = await snapshots()
    const from = panel.getByLabel('from')
    const at = await ask('second')
    await from.fill(at)
    await panel.getByRole('button', { name: 'Trim …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/are forgotten for good/).waitFor()
    assert.ok(await dialog.getByRole('button', { name: 'Forget the rest' }).isDisabled())
    await shot(page, 'episodes-trim')
    await dialog.getByLabel(/Why/).fill('the beginning is of no use')
    await dialog.getByRole('button', { name: 'Forget the rest' }).click()
    await page.waitForFunction((n) => [...document.querySelectorAll('[role=tabpanel] .snapshots')].some((c) => Number(c.textContent.replace(/\D/g, '')) < n && c.closest('tr').textContent.includes('Drop')), before)
    assert.equal(await ask('trimmed'), 'states are there, streams begin later')

    step('It is kept, and kept no more.')
    await row.getByRole('button', { name: 'Keep' }).click()
    await panel.getByRole('button', { name: 'Keep no more' }).click()
    await row.getByRole('button', { name: 'Keep', exact: true }).waitFor()

    step('It is dropped, once one has said why.')
    await row.getByRole('button', { name: 'Drop' }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await row.getByRole('button', { name: 'Drop' }).click()
    await dialog.getByLabel(/Why/).fill('it was a trial')
    await dialog.getByRole('button', { name: 'Drop it' }).click()
    await page.waitForFunction(() => ![...document.querySelectorAll('[role=tabpanel] button')].some((b) => b.textContent === 'Drop'))
    assert.equal(await ask('dropped'), '0')
  },
)
