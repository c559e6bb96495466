// Opens the recording in Rerun's viewer. The title tells when there is something of it to see.
import { WebViewer } from './viewer/index.js'

const viewer = new WebViewer()
viewer.once('time_update', () => (document.title = 'Engram in Rerun'))
try {
  await viewer.start(new URL('recording.mcap', location.href).href, document.getElementById('viewer'), {
    width: '100%',
    height: '100%',
    hide_welcome_screen: true,
    enable_history: false,
  })
} catch (e) {
  document.title = `Rerun's viewer does not start: ${e}`
}
