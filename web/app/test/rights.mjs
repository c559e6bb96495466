import { shot, step, test } from './browser.mjs'

await test(
  async (open) => {
    const page = await open()
    step('a commit without the right to write')
    await page.goto(new URL('?sel=Example/ExampleData/me/one&view=table', page.url()).href)
    await page.getByRole('button', { name: 'Edit a copy' }).click()
    const dialog = page.getByRole('dialog', { name: 'Edit a copy' })
    await dialog.getByLabel('the_int', { exact: true }).fill('5')
    await dialog.getByRole('button', { name: 'Commit' }).click()
    await dialog.getByRole('alert').getByText('write').waitFor()
    await shot(page, 'form-rights')
  },
  // Executions and marks are looked for as ever; what is denied is denied.
  { expected: [/^403: .*\/Commit$/] },
)
