import { ask, shot, step, test } from './browser.mjs'

await test(
  async (open) => {
    const page = await open()
    const alerts = page.getByRole('status')
    const go = (query) => page.goto(new URL('?' + new URLSearchParams(query), page.url()).href)
    await go({ view: 'images' })
    await page.getByRole('treeitem').first().waitFor()
    await page.waitForFunction(() => document.querySelector('[role=tabpanel] img')?.naturalWidth > 0)

    step('A frame that nobody knows is told of beside any view, with why; 3D shows more, and says so itself.')
    await ask('lose')
    await alerts.getByText(/A frame cannot be placed: frame nowhere/).waitFor()
    await alerts.getByText(/has to commit its transform/).waitFor()
    await alerts.getByRole('button', { name: 'Show' }).click()
    await page.waitForURL((u) => !u.searchParams.has('view'))
    await alerts.getByText(/cannot be placed/).waitFor({ state: 'detached' })

    step('So is what cannot be read, as long as it cannot.')
    await ask('garble')
    await go({ view: 'images' })
    await alerts.getByText(/What an entity says cannot be read: Vision\/ImageRGB\/Simulation\/garbled/).waitFor()

    step('What memories refuse is counted, by segment.')
    await page.getByRole('treeitem').first().waitFor()
    await ask('refuse')
    await alerts.getByText(/2 updates were refused/).waitFor()
    await alerts.getByText('Which?').click()
    await alerts.getByText('Speech/Text: 2').waitFor()

    step('What the server says does not work leads to the doctor.')
    await ask('fail')
    await alerts.getByText(/disk: it is full/).waitFor()
    await alerts.getByText(/A frame cannot be placed: frame nowhere/).waitFor()
    await shot(page, 'alerts')
    await page.emulateMedia({ colorScheme: 'dark' })
    await shot(page, 'alerts-dark')

    step('What is well is told of no more; what is dismissed neither.')
    await ask('mend')
    await alerts.getByText(/disk: it is full/).waitFor({ state: 'detached' })
    await alerts.getByText(/cannot be read/).waitFor({ state: 'detached' })
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
  // An image that is none, and a server that is not ready.
  { expected: [/^500: .*\/view\/image/, /^503: .*\/readyz/] },
)
