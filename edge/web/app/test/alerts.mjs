import { address, ask, shot, step, test } from './browser.mjs'

await test(
  async (open) => {
    const page = await open(`${address}/?view=table`)
    const alerts = page.getByRole('status')
    step('What memories refuse is counted, by segment.')
    await page.getByRole('treeitem').first().waitFor()
    await ask('refuse')
    await alerts.getByText(/2 updates were refused/).waitFor()
    await alerts.getByText('Which?').click()
    await alerts.getByText('Speech/Text: 2').waitFor()

    step('What the server says does not work is told, with what to do.')
    await ask('fail')
    await alerts.getByText(/disk: it is full/).waitFor()
    await alerts.getByText(/engram doctor/).waitFor()
    await shot(page, 'alerts')
    await page.emulateMedia({ colorScheme: 'dark' })
    await shot(page, 'alerts-dark')

    step('What is well is told of no more; what is dismissed neither.')
    await ask('mend')
    await alerts.getByText(/disk: it is full/).waitFor({ state: 'detached' })
    await alerts.getByRole('button', { name: /^Dismiss: 2 updates were refused/ }).click()
    await alerts.getByText(/updates were refused/).waitFor({ state: 'detached' })
    await ask('fail')
    await alerts.getByText(/disk: it is full/).waitFor()
    if (await alerts.getByText(/updates were refused/).count()) throw new Error('what was dismissed is told of again')

    step('A page that does not keep up says so, while it does not.')
    const update = (id, dropped) => [0x12, id.length, ...Buffer.from(id), 0x30, dropped]
    const one = update('Vision/ImageRGB/Simulation/head_camera/2026-11-20T16:00:00', 127)
    const message = Array.from({ length: 2 }, () => [0x12, one.length, ...one]).flat()
    const frame = (flags, bytes) => [flags, 0, 0, bytes.length >> 8, bytes.length & 255, ...bytes]
    // As from a server that leaves out 127 updates before each that it sends.
    await page.route(/MemoryService.Subscribe/, (route) =>
      route.fulfill({ status: 200, contentType: 'application/connect+proto', body: Buffer.from([...frame(0, message), ...frame(2, Buffer.from('{}'))]) }),
    )
    await page.reload()
    await alerts.getByText(/This page is too slow/).waitFor()
    // A busy machine may keep up with no more than this.
    await ask('rest')
    await page.unroute(/MemoryService.Subscribe/)
    await alerts.getByText(/This page is too slow/).waitFor({ state: 'detached' })
  },
  // A server that is not ready.
  { expected: [/^503: .*\/readyz/] },
)
