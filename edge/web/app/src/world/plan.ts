// A floor plan on a canvas: items from above, over the maps of where they are.
import { theme, themed } from '../lib/theme.svelte'
import { flat, type Item } from './items'

/** A picture of cells: where its lower left corner is, how it is turned (rad, to the left), and how large it is, m. */
export interface Cells {
  href: string
  x: number
  y: number
  yaw: number
  width: number
  height: number
}

interface Shape {
  item: Item
  x: number
  y: number
  yaw: number
  /** 0 where nobody says how large it is. */
  width: number
  depth: number
}

/** How large what has no size is, in pixels. */
const dot = 4

export class Plan {
  #context: CanvasRenderingContext2D
  #shapes: Shape[] = []
  #cells: Cells[] = []
  #images = new Map<string, HTMLImageElement>()
  #selected = ''
  /** What is in the middle, m, and how many pixels a metre has. */
  #x = 0
  #y = 0
  #scale = 50
  #frame = 0
  #of: string | undefined
  #pointers = new Map<number, { x: number; y: number }>()
  #moved = 0
  #watch: ResizeObserver

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly pick: (item: Item) => void,
  ) {
    this.#context = canvas.getContext('2d')!
    this.#watch = new ResizeObserver(() => this.#resize())
    this.#watch.observe(canvas)
    theme.addEventListener('change', this.draw)
    canvas.addEventListener('wheel', this.#wheel, { passive: false })
    canvas.addEventListener('pointerdown', this.#down)
    canvas.addEventListener('pointermove', this.#move)
    canvas.addEventListener('pointerup', this.#up)
    canvas.addEventListener('pointercancel', this.#up)
  }

  dispose() {
    this.#watch.disconnect()
    cancelAnimationFrame(this.#frame)
    theme.removeEventListener('change', this.draw)
  }

  /** Shows items and cells that are in one tree of frames; another one comes in sight as a whole. */
  set(root: string, items: Item[], cells: Cells[]) {
    this.#shapes = items
      .map((item) => {
        const [x, y, yaw] = flat(item.pose!)
        return { item, x, y, yaw, width: item.size?.[0] ?? 0, depth: item.size?.[1] ?? 0 }
      })
      .sort((a, b) => b.width * b.depth - a.width * a.depth)
    this.#cells = cells
    const wanted = new Set(cells.map((c) => c.href))
    for (const href of this.#images.keys()) if (!wanted.has(href)) this.#images.delete(href)
    for (const href of wanted) {
      if (this.#images.has(href)) continue
      const image = new Image()
      image.onload = this.draw
      image.src = href
      this.#images.set(href, image)
    }
    if (this.#of !== root && (items.length || cells.length)) {
      this.#of = root
      this.fit()
    }
    this.draw()
  }

  /** Marks an item. */
  select(name: string) {
    this.#selected = name
    this.draw()
  }

  /** Has all items in sight, or all cells where there are none. */
  fit() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity]
    const add = (x: number, y: number, yaw: number, width: number, depth: number) => {
      const [cos, sin] = [Math.abs(Math.cos(yaw)), Math.abs(Math.sin(yaw))]
      const [rx, ry] = [(cos * width + sin * depth) / 2, (sin * width + cos * depth) / 2]
      ;[x0, x1, y0, y1] = [Math.min(x0, x - rx), Math.max(x1, x + rx), Math.min(y0, y - ry), Math.max(y1, y + ry)]
    }
    for (const s of this.#shapes) add(s.x, s.y, s.yaw, s.width + 0.2, s.depth + 0.2)
    // Of maps much may be unknown.
    for (const c of this.#shapes.length ? [] : this.#cells) {
      const [cos, sin] = [Math.cos(c.yaw), Math.sin(c.yaw)]
      add(c.x + (cos * c.width - sin * c.height) / 2, c.y + (sin * c.width + cos * c.height) / 2, c.yaw, c.width, c.height)
    }
    if (!(x1 > x0)) return
    this.#x = (x0 + x1) / 2
    this.#y = (y0 + y1) / 2
    this.#scale = 0.94 * Math.min(this.canvas.clientWidth / (x1 - x0), this.canvas.clientHeight / (y1 - y0)) || 50
    this.draw()
  }

  #resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas
    if (!w || !h) return
    const first = this.canvas.width === 300 && this.canvas.height === 150
    const ratio = Math.min(devicePixelRatio, 2)
    this.canvas.width = w * ratio
    this.canvas.height = h * ratio
    if (first) this.fit()
    this.draw()
  }

  /** Has it drawn once more. */
  draw = () => {
    if (!this.#frame) this.#frame = requestAnimationFrame(this.#draw)
  }

  #draw = () => {
    this.#frame = 0
    const { clientWidth: w, clientHeight: h } = this.canvas
    if (!w || !h) return
    const c = this.#context
    const colours = Object.fromEntries(['text', 'quiet', 'line', 'accent', 'back'].map((n) => [n, themed(this.canvas, n)])) as Record<string, string>
    const ratio = this.canvas.width / w
    c.setTransform(ratio, 0, 0, ratio, 0, 0)
    c.clearRect(0, 0, w, h)
    const s = this.#scale
    const px = (x: number) => w / 2 + (x - this.#x) * s
    const py = (y: number) => h / 2 - (y - this.#y) * s

    // The ground, in squares of 1 m, or of 10, 100 …
    let step = 1
    while (step * s < 14) step *= 10
    c.strokeStyle = colours.line!
    c.lineWidth = 1
    c.beginPath()
    for (let x = Math.ceil((this.#x - w / 2 / s) / step) * step; px(x) < w; x += step) {
      c.moveTo(Math.round(px(x)) + 0.5, 0)
      c.lineTo(Math.round(px(x)) + 0.5, h)
    }
    for (let y = Math.ceil((this.#y - h / 2 / s) / step) * step; py(y) > 0; y += step) {
      c.moveTo(0, Math.round(py(y)) + 0.5)
      c.lineTo(w, Math.round(py(y)) + 0.5)
    }
    c.stroke()

    c.imageSmoothingEnabled = false
    for (const cells of this.#cells) {
      const image = this.#images.get(cells.href)
      if (!image?.complete || !image.naturalWidth) continue
      c.save()
      c.translate(px(cells.x), py(cells.y))
      c.rotate(-cells.yaw)
      c.drawImage(image, 0, -cells.height * s, cells.width * s, cells.height * s)
      c.restore()
    }

    const labels: { text: string; x: number; y: number; chosen: boolean }[] = []
    for (const shape of this.#shapes) {
      const { item } = shape
      const [x, y] = [px(shape.x), py(shape.y)]
      const reach = (Math.hypot(shape.width, shape.depth) / 2) * s + 8
      if (x < -reach || x > w + reach || y < -reach || y > h + reach) continue
      const chosen = item.name === this.#selected
      const [cos, sin] = [Math.cos(shape.yaw) * ratio, -Math.sin(shape.yaw) * ratio]
      c.setTransform(cos, sin, -sin, cos, x * ratio, y * ratio)
      c.fillStyle = item.colour ?? colours.quiet!
      c.strokeStyle = chosen ? colours.accent! : c.fillStyle
      c.lineWidth = chosen ? 2 : 1
      const there = Math.max(0.25, item.belief ?? 1)
      const [width, depth] = [shape.width * s, shape.depth * s]
      if (width > 2 && depth > 2) {
        c.globalAlpha = there * (item.kinds?.includes('map') ? 0.07 : 0.6)
        c.fillRect(-width / 2, -depth / 2, width, depth)
        c.globalAlpha = chosen ? 1 : there
        c.strokeRect(-width / 2, -depth / 2, width, depth)
      } else {
        c.globalAlpha = there
        c.beginPath()
        if (item.kinds?.includes('robot')) {
          // It looks along its x.
          c.fillStyle = colours.text!
          c.moveTo(2 * dot, 0)
          c.lineTo(-1.5 * dot, 1.5 * dot)
          c.lineTo(-0.5 * dot, 0)
          c.lineTo(-1.5 * dot, -1.5 * dot)
          c.closePath()
        } else c.arc(0, 0, dot, 0, 7)
        c.fill()
        if (chosen) {
          c.globalAlpha = 1
          c.stroke()
        }
      }
      labels.push({ text: item.label || item.name, x, y: depth > 2 ? y : y - dot - 7, chosen })
    }
    c.setTransform(ratio, 0, 0, ratio, 0, 0)
    c.globalAlpha = 1

    // A label that would lie on another one is left out; the selected one and those of small things come first.
    c.font = '11.5px Inter, system-ui, "DejaVu Sans", sans-serif'
    c.textAlign = 'center'
    c.textBaseline = 'middle'
    c.lineJoin = 'round'
    const taken = new Set<string>()
    let written = 0
    for (const l of labels.reverse().sort((a, b) => Number(b.chosen) - Number(a.chosen))) {
      if (written === 150) break
      const half = c.measureText(l.text).width / 2 + 3
      const cells: string[] = []
      for (let i = Math.floor((l.x - half) / 12); i <= Math.floor((l.x + half) / 12); i++) cells.push(`${i} ${Math.floor((l.y - 6) / 14)}`, `${i} ${Math.floor((l.y + 6) / 14)}`)
      if (!l.chosen && cells.some((k) => taken.has(k))) continue
      for (const k of cells) taken.add(k)
      written++
      c.strokeStyle = colours.back!
      c.lineWidth = 3
      c.globalAlpha = 0.8
      c.strokeText(l.text, l.x, l.y)
      c.globalAlpha = 1
      c.fillStyle = l.chosen ? colours.accent! : colours.text!
      c.fillText(l.text, l.x, l.y)
    }

    // How long a metre is.
    let bar = 10 ** Math.floor(Math.log10(100 / s))
    for (const m of [5, 2]) if (bar * m * s <= 100) bar *= m
    c.strokeStyle = c.fillStyle = colours.quiet!
    c.lineWidth = 1
    c.beginPath()
    c.moveTo(10.5, h - 14)
    c.lineTo(10.5, h - 10.5)
    c.lineTo(10.5 + bar * s, h - 10.5)
    c.lineTo(10.5 + bar * s, h - 14)
    c.stroke()
    c.textAlign = 'left'
    c.fillText(bar >= 1 ? `${bar} m` : `${Math.round(bar * 100)} cm`, 16 + bar * s, h - 12)
  }

  #wheel = (e: WheelEvent) => {
    e.preventDefault()
    this.#zoom(Math.exp(-e.deltaY / 500), e.offsetX, e.offsetY)
  }

  /** Comes closer by a factor, to what is at a place. */
  #zoom(by: number, x: number, y: number) {
    const scale = Math.min(Math.max(this.#scale * by, 0.01), 20_000)
    const [dx, dy] = [x - this.canvas.clientWidth / 2, this.canvas.clientHeight / 2 - y]
    this.#x += dx / this.#scale - dx / scale
    this.#y += dy / this.#scale - dy / scale
    this.#scale = scale
    this.draw()
  }

  #down = (e: PointerEvent) => {
    this.canvas.setPointerCapture(e.pointerId)
    if (!this.#pointers.size) this.#moved = 0
    this.#pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY })
  }

  #move = (e: PointerEvent) => {
    const was = this.#pointers.get(e.pointerId)
    if (!was) return
    const is = { x: e.offsetX, y: e.offsetY }
    const other = [...this.#pointers].find(([id]) => id !== e.pointerId)?.[1]
    if (other) {
      const apart = (p: { x: number; y: number }) => Math.max(Math.hypot(p.x - other.x, p.y - other.y), 1)
      this.#zoom(apart(is) / apart(was), other.x, other.y)
    } else {
      this.#x -= (is.x - was.x) / this.#scale
      this.#y += (is.y - was.y) / this.#scale
    }
    this.#moved += Math.hypot(is.x - was.x, is.y - was.y)
    this.#pointers.set(e.pointerId, is)
    this.draw()
  }

  #up = (e: PointerEvent) => {
    const was = this.#pointers.delete(e.pointerId)
    if (!was || this.#moved > 4 || this.#pointers.size || e.type === 'pointercancel') return
    const item = this.#at(e.offsetX, e.offsetY)
    if (item) this.pick(item)
  }

  /** The smallest item at a place. */
  #at(x: number, y: number): Item | undefined {
    const [wx, wy] = [this.#x + (x - this.canvas.clientWidth / 2) / this.#scale, this.#y - (y - this.canvas.clientHeight / 2) / this.#scale]
    const least = (dot + 2) / this.#scale
    return this.#shapes.findLast((s) => {
      const [dx, dy] = [wx - s.x, wy - s.y]
      const [cos, sin] = [Math.cos(s.yaw), Math.sin(s.yaw)]
      return Math.abs(cos * dx + sin * dy) <= Math.max(s.width / 2, least) && Math.abs(cos * dy - sin * dx) <= Math.max(s.depth / 2, least)
    })?.item
  }
}
