// Images of snapshots, as the server makes them for the screen.
import { piece } from './api'

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
  /** Depth in colours. */
  deep: boolean
}

const params = (w: Wanted) => ({
  id: w.id,
  t: w.at?.toString(),
  asof: w.asOf?.toString(),
  i: String(w.i),
  path: w.path || undefined,
})

/** Fetches an image; who gets it revokes its URL. */
export async function image(w: Wanted, signal: AbortSignal): Promise<Image> {
  const r = await piece('image', { ...params(w), w: String(w.width), h: String(w.height), colour: w.deep ? 'deep' : undefined }, signal)
  const about = JSON.parse(decodeURIComponent(r.headers.get('Engram-Image') ?? '{}')) as Omit<Image, 'url'>
  return { ...about, url: URL.createObjectURL(await r.blob()) }
}

/** What lies over an image, in its pixels. */
export interface Overlay {
  width: number
  height: number
  marks: {
    /** What says so: an instance that links to the image. */
    id: string
    name: string
    confidence?: number
    /** It was seen in an image before. */
    earlier?: boolean
    /** Each u, v, u, v … */
    lines: number[][]
    at: [number, number]
    texts?: { text: string; at: [number, number] }[]
  }[]
  /** Why some cannot be drawn. */
  why?: string
}

/** Fetches what was recognised in an image. */
export async function overlay(of: Image, asOf: bigint | undefined, signal: AbortSignal): Promise<Overlay> {
  const r = await piece('overlay', { id: of.id, frame: of.frame, width: String(of.width), height: String(of.height), asof: asOf?.toString() }, signal)
  return (await r.json()) as Overlay
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

export const fileName = (id: string, ending: string) => id.replace(/[^\p{L}\p{N}.-]+/gu, '_') + '.' + ending

/** Has the browser save something as a file. */
export function save(blob: Blob, name: string) {
  const a = document.createElement('a')
  a.href = URL.createObjectURL(blob)
  a.download = name
  a.click()
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000)
}
