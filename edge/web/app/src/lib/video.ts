// Frames of H.264, which the browser decodes, or else the server.
import { piece } from './api'
import { aboutOf, type Image } from './image'

/** Whether this browser decodes video; pages that do not come from this computer need HTTPS for it. */
const decodesVideo = () => typeof VideoDecoder !== 'undefined'

/** The codec of a frame with parameters, as browsers call it. */
function codecOf(frame: Uint8Array): string {
  for (let i = 0; i + 6 < frame.length; i++) {
    if (frame[i] || frame[i + 1] || frame[i + 2] !== 1 || (frame[i + 3]! & 31) !== 7) continue
    return 'avc1.' + [4, 5, 6].map((k) => frame[i + k]!.toString(16).padStart(2, '0')).join('')
  }
  throw new Error('The key frame has no parameters.')
}

function framesOf(body: ArrayBuffer): Uint8Array[] {
  const frames: Uint8Array[] = []
  const view = new DataView(body)
  for (let at = 0; at + 4 <= body.byteLength; ) {
    const length = view.getUint32(at)
    frames.push(new Uint8Array(body, at + 4, length))
    at += 4 + length
  }
  return frames
}

/** Decodes frames from a key frame on, and returns the last one. */
async function last(frames: Uint8Array[]): Promise<VideoFrame> {
  let newest: VideoFrame | undefined
  let failed: unknown
  const decoder = new VideoDecoder({
    output: (f) => {
      newest?.close()
      newest = f
    },
    error: (e) => (failed = e),
  })
  try {
    const config = { codec: codecOf(frames[0]!), optimizeForLatency: true }
    if (!(await VideoDecoder.isConfigSupported(config)).supported) throw new Error(`This browser does not decode H.264 (${config.codec}).`)
    decoder.configure(config)
    frames.forEach((data, i) => decoder.decode(new EncodedVideoChunk({ type: i ? 'delta' : 'key', timestamp: i, data })))
    await decoder.flush()
    if (failed || !newest) throw failed ?? new Error('The video cannot be decoded.')
    return newest
  } catch (e) {
    newest?.close()
    throw failed ?? e
  } finally {
    if (decoder.state !== 'closed') decoder.close()
  }
}

/** Fetches and decodes the frame that was in force; who gets it revokes its URL. */
export async function videoImage(of: { id: string; at?: bigint; asOf?: bigint }, kind: 'image/jpeg' | 'image/png', signal?: AbortSignal): Promise<Image & { blob: Blob }> {
  const asked = { id: of.id, t: of.at?.toString(), asof: of.asOf?.toString() }
  // Where the browser cannot, the server decodes.
  const r = await piece('video', decodesVideo() ? asked : { ...asked, as: kind }, signal)
  const about = aboutOf(r)
  if (!decodesVideo()) {
    const blob = await r.blob()
    const decoded = await createImageBitmap(blob)
    const { width, height } = decoded
    decoded.close()
    return { ...about, path: '', images: 1, width, height, near: 0, far: 0, blob, url: URL.createObjectURL(blob) }
  }
  const frame = await last(framesOf(await r.arrayBuffer()))
  try {
    const canvas = new OffscreenCanvas(frame.displayWidth, frame.displayHeight)
    canvas.getContext('2d')!.drawImage(frame, 0, 0)
    const blob = await canvas.convertToBlob({ type: kind, quality: 0.92 })
    signal?.throwIfAborted()
    return { ...about, path: '', images: 1, width: canvas.width, height: canvas.height, near: 0, far: 0, blob, url: URL.createObjectURL(blob) }
  } finally {
    frame.close()
  }
}
