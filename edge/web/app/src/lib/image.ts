// Images of snapshots, as the server makes them for the screen.
import { piece } from './api'
import { fileName, save } from './files'

export interface Image {
  url: string
  /** The instance's ID, with its time. */
  id: string
  path: string
  /** How many images the snapshot has. */
  images: number
  width: number
  height: number
  format: string
  frame: string
  /** Where the colours of depth begin and end, m; both 0 for other images. */
  near: number
  far: number
}

export interface Wanted {
  id: string
  at?: bigint
  asOf?: bigint
  i: number
  /** Only of this member. */
  path?: string
  /** At most so many pixels. */
  width: number
  height: number
  /** Depth in colours instead of greys. */
  colours: boolean
}

const params = (w: Wanted) => ({
  id: w.id,
  t: w.at?.toString(),
  asof: w.asOf?.toString(),
  i: String(w.i),
  path: w.path || undefined,
})

/** What the server says of an image. */
export const aboutOf = (r: Response) => JSON.parse(decodeURIComponent(r.headers.get('Engram-Image') ?? '{}')) as Omit<Image, 'url'>

/** Fetches an image; who gets it revokes its URL. */
export async function image(w: Wanted, signal: AbortSignal): Promise<Image> {
  const r = await piece('image', { ...params(w), w: String(w.width), h: String(w.height), colour: w.colours ? 'depth' : undefined }, signal)
  return { ...aboutOf(r), url: URL.createObjectURL(await r.blob()) }
}

/** Saves the whole image as PNG. */
export async function savePNG(w: Wanted) {
  const r = await piece('image', { ...params(w), full: '1' })
  let blob = await r.blob()
  if (blob.type !== 'image/png') {
    const bitmap = await createImageBitmap(blob)
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height)
    canvas.getContext('2d')!.drawImage(bitmap, 0, 0)
    blob = await canvas.convertToBlob({ type: 'image/png' })
  }
  save(blob, fileName(w.id, 'png'))
}
