// The camera, what is drawn when, and what a pointer points at.
import * as THREE from 'three'
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js'
import { drawEvent } from '../lib/save'
import { themed, theme } from '../lib/theme.svelte'
import { sun } from './box'
import { faint, isVisible, Things, type Label } from './things'
import { Tree } from './tree'
import type { Scene, Thing } from './types'

/** What a click hit. */
interface Hit {
  key?: string
  at: THREE.Vector3
}

/** For so long, ms, a new scene is brought into sight as its parts come, such as the meshes of robots. */
const settling = 2000

/** So many labels are written at once at most. */
const maxLabels = 150

export class Stage {
  readonly tree = new Tree()
  readonly things: Things
  readonly #renderer: THREE.WebGLRenderer
  readonly #scene = new THREE.Scene()
  readonly #camera = new THREE.PerspectiveCamera(50, 1, 0.02, 5000)
  readonly #controls: OrbitControls
  readonly #overlay: CanvasRenderingContext2D
  #ground?: THREE.GridHelper
  readonly #chosen = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ depthTest: false }))
  readonly #measure = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ depthTest: false }))
  #frame = 0
  #settle?: ReturnType<typeof setTimeout>
  #selected = new Set<string>()
  #points: THREE.Vector3[] = []
  #trails = new Set<string>()
  #follow = ''
  #followed?: THREE.Vector3
  #beside = false
  #colours = { text: '#888', quiet: '#888', line: '#888', accent: '#888', back: '#fff' }
  #seen = false
  /** Until when what comes is brought into sight, unless somebody has looked elsewhere. */
  #settled = 0
  /** How wide half a label is, by its font and text. */
  #halves = new Map<string, number>()
  #watch: ResizeObserver

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly overlay: HTMLCanvasElement,
    /** Is told from where one looks, when that was changed by hand. */
    readonly moved: (eye: string) => void,
  ) {
    this.#renderer = new THREE.WebGLRenderer({ canvas, antialias: devicePixelRatio < 2 && !inSoftware(), alpha: true, powerPreference: 'low-power' })
    this.#renderer.debug.checkShaderErrors = false // to ask for them is to wait for each
    this.#overlay = overlay.getContext('2d')!
    const colour = (name: 'text' | 'quiet' | 'accent') => new THREE.Color(this.#colours[name])
    this.things = new Things(this.tree, this.#scene, () => ({ text: colour('text'), quiet: colour('quiet'), accent: colour('accent') }), () => this.#loaded())
    this.#camera.up.set(0, 0, 1)
    this.#camera.position.set(4, -5, 4)
    this.#controls = new OrbitControls(this.#camera, canvas)
    this.#controls.target.set(0, 0, 0.5)
    this.#controls.zoomToCursor = true
    this.#controls.addEventListener('change', this.invalidate)
    let from = ''
    this.#controls.addEventListener('start', () => {
      from = this.#eye()
      this.#settled = 0
    })
    this.#controls.addEventListener('end', () => from !== this.#eye() && this.moved(this.#eye()))
    this.#controls.update()
    const light = new THREE.DirectionalLight(0xffffff, 1.8)
    light.position.copy(sun)
    this.#scene.add(new THREE.HemisphereLight(0xffffff, 0x8a8f99, 1.7), light, this.tree.top, this.#chosen, this.#measure)
    for (const o of [this.#chosen, this.#measure]) {
      o.frustumCulled = false
      o.renderOrder = 10
      o.raycast = () => {}
    }
    this.#watch = new ResizeObserver(() => this.#resize())
    this.#watch.observe(canvas)
    theme.addEventListener('change', this.recolour)
    canvas.addEventListener('webglcontextrestored', this.invalidate)
    addEventListener(drawEvent, this.#render)
    this.recolour()
    this.#resize()
  }

  /** Has the scene drawn once more. */
  invalidate = () => {
    if (!this.#frame) this.#frame = requestAnimationFrame(this.#render)
  }

  /** Takes the colours of the page. */
  recolour = () => {
    const style = (name: string) => themed(this.overlay, name)
    this.#colours = { text: style('text'), quiet: style('quiet'), line: style('line'), accent: style('accent'), back: style('back') }
    this.#ground?.removeFromParent()
    this.#ground?.dispose()
    const fine = new THREE.GridHelper(20, 20, this.#colours.quiet, this.#colours.line)
    fine.rotation.x = Math.PI / 2
    fine.position.z = -0.002
    fine.raycast = () => {}
    const look = fine.material as THREE.Material
    look.transparent = true
    look.opacity = 0.7
    look.depthWrite = false
    this.#scene.add((this.#ground = fine))
    for (const o of [this.#chosen, this.#measure]) o.material.color.set(this.#colours.accent)
    this.things.reshow()
    this.invalidate()
  }

  /** Takes what the server says of a scene. */
  set(s: Scene) {
    if (s.frames) this.tree.set(s.frames)
    this.things.set(s.parts)
    if (s.frames || Object.keys(s.parts).length) this.refresh()
    if (!this.#seen && this.things.drawn.size) {
      this.#seen = true
      this.#settled = performance.now() + settling
      this.#show()
    }
  }

  /** Takes the trails that are others; undefined takes them all away. */
  setTrails(parts: Scene['parts'] | undefined) {
    const all = parts ? Object.entries(parts) : [...this.#trails].map((part): [string, Thing[]] => [part, []])
    for (const [part] of all) this.#trails.add(part)
    this.things.set(Object.fromEntries(all.map(([part, things]) => [`trail ${part}`, things])))
    this.invalidate()
  }

  /** How many trails there are. */
  get trails(): number {
    let n = 0
    for (const key of this.things.drawn.keys()) if (key.startsWith('trail ')) n++
    return n
  }

  /** Something came that was fetched apart. */
  #loaded() {
    if (this.#seen && performance.now() < this.#settled) this.#show()
    this.#choose()
    this.invalidate()
  }

  /** Has all in sight, and what is followed in the middle. */
  #show() {
    this.fit()
    if (this.#beside) this.#followed = undefined
    this.#goAlong()
  }

  /** Draws what depends on where frames are. */
  refresh() {
    this.tree.arrange()
    this.things.setFrames(this.tree.frames.list)
    this.#choose()
    this.#goAlong()
    this.invalidate()
  }

  /** Marks things. */
  select(keys: Set<string>) {
    this.#selected = keys
    this.things.mark(keys)
    this.#choose()
    this.invalidate()
  }

  #choose() {
    this.#chosen.geometry.dispose()
    this.#chosen.geometry.setAttribute('position', new THREE.BufferAttribute(this.things.edges(this.#selected), 3))
    this.#chosen.visible = this.#selected.size > 0
  }

  /** Looks from where an eye is that moved was told of. */
  look(eye: string) {
    const n = eye.split(',').map(Number)
    if (n.length !== 6 || !n.every(Number.isFinite)) return
    this.#seen = true
    this.#camera.position.fromArray(n)
    this.#controls.target.fromArray(n, 3)
    this.#controls.update()
    this.invalidate()
  }

  #eye(): string {
    return [...this.#camera.position.toArray(), ...this.#controls.target.toArray()].map((x) => Number(x.toPrecision(5))).join()
  }

  /** Has the camera go along with a frame, or the thing of a key, from where it is or from beside it; "" with none. */
  follow(what: string, beside: boolean) {
    this.#follow = what
    this.#settled = 0
    this.#followed = undefined
    this.#beside = beside
    this.#goAlong()
    this.invalidate()
  }

  #goAlong() {
    const thing = this.things.drawn.get(this.#follow)?.thing
    const frame = thing?.pose ? (thing.frame ?? '') : this.#follow
    if (!this.#follow || !this.tree.shown(frame)) return
    const at = new THREE.Vector3(...(thing?.pose ?? [0, 0, 0])).applyMatrix4(this.tree.group(frame).matrixWorld)
    const from = this.#followed ?? (this.#beside ? this.#controls.target : at)
    const by = at.clone().sub(from)
    if (by.lengthSq() > 0) {
      this.#camera.position.add(by)
      this.#controls.target.add(by)
      this.#controls.update()
    }
    this.#followed = at
  }

  /** Has all in sight, or a thing. */
  fit(keys?: Set<string>, from?: THREE.Vector3) {
    const box = new THREE.Box3()
    if (keys?.size) {
      const at = this.things.edges(keys)
      if (at.length) box.setFromArray(at)
    }
    if (box.isEmpty()) this.things.around(box)
    for (const f of keys ? [] : this.tree.frames.list) {
      if (this.tree.shown(f.name)) box.expandByPoint(new THREE.Vector3().setFromMatrixPosition(this.tree.group(f.name).matrixWorld))
    }
    if (box.isEmpty()) box.set(new THREE.Vector3(-2, -2, 0), new THREE.Vector3(2, 2, 1))
    const ball = box.getBoundingSphere(new THREE.Sphere())
    const radius = Math.max(ball.radius, 0.3)
    const way = (from ?? this.#camera.position.clone().sub(this.#controls.target)).normalize()
    this.#controls.target.copy(ball.center)
    this.#camera.position.copy(ball.center).addScaledVector(way, (radius / Math.sin((this.#camera.fov * Math.PI) / 360)) * 0.75)
    this.#controls.update()
    this.invalidate()
  }

  /** Looks from above. */
  above() {
    this.#settled = 0
    this.fit(undefined, new THREE.Vector3(0, -0.001, 1))
    this.moved(this.#eye())
  }

  /** Has all in sight, or a thing, by hand. */
  refit(keys?: Set<string>) {
    this.#settled = 0
    this.fit(keys)
    this.moved(this.#eye())
  }

  /** What is at a place of the canvas. */
  hit(e: { clientX: number; clientY: number }): Hit | undefined {
    const r = this.canvas.getBoundingClientRect()
    const at = new THREE.Vector2(((e.clientX - r.left) / r.width) * 2 - 1, 1 - ((e.clientY - r.top) / r.height) * 2)
    const ray = new THREE.Raycaster()
    ray.setFromCamera(at, this.#camera)
    const far = this.#camera.position.distanceTo(this.#controls.target)
    ray.params.Points.threshold = far * 0.006
    ray.params.Line.threshold = far * 0.006
    ;(ray.params as { Line2?: { threshold: number } }).Line2 = { threshold: 6 }
    const found = ray.intersectObject(this.tree.top, true)
    let room: Hit | undefined
    for (const f of found) {
      if (!isVisible(f.object)) continue
      const key = f.instanceId === undefined ? (f.object.userData.key as string) : (f.object.userData.keyOf as (i: number) => string)(f.instanceId)
      if (!key || key.startsWith(' ')) continue
      const hit = { key, at: f.point }
      // One looks through what is hardly there, such as the box of a room, and into what it has.
      const d = this.things.drawn.get(key)?.thing
      const through = d?.entities?.some((x) => x.cubes?.some((c) => (c.color?.a ?? 0) < faint))
      if (d?.kind === 'grid') return room ? { key: room.key, at: hit.at } : hit
      if (!through) return hit
      room ??= hit
    }
    const ground = ray.ray.intersectPlane(new THREE.Plane(new THREE.Vector3(0, 0, 1), 0), new THREE.Vector3())
    return ground ? { key: room?.key, at: ground } : room
  }

  /** Shows the way between points. */
  measure(points: THREE.Vector3[]) {
    this.#points = points
    this.#measure.geometry.dispose()
    this.#measure.geometry = new THREE.BufferGeometry().setFromPoints(points)
    this.#measure.visible = points.length > 1
    this.invalidate()
  }

  #resize() {
    const { clientWidth: w, clientHeight: h } = this.canvas
    if (!w || !h) return
    const ratio = Math.min(devicePixelRatio, 2)
    this.#renderer.setPixelRatio(ratio)
    this.#renderer.setSize(w, h, false)
    this.overlay.width = w * ratio
    this.overlay.height = h * ratio
    this.#camera.aspect = w / h
    this.#camera.updateProjectionMatrix()
    this.invalidate()
  }

  #render = () => {
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
    const far = this.#camera.position.distanceTo(this.#controls.target)
    this.#camera.near = Math.max(far / 500, 0.005)
    this.#camera.far = Math.max(far * 50, 200)
    this.#camera.updateProjectionMatrix()
    this.#renderer.render(this.#scene, this.#camera)
    this.canvas.dataset.calls = String(this.#renderer.info.render.calls)
    this.canvas.dataset.frames = String(this.#renderer.info.render.frame)
    this.canvas.dataset.uncertain = String(this.things.uncertain.size)
    this.#write()
    // Not only when all is still: live, it never is.
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined
      this.things.look(this.#camera, this.canvas.clientHeight)
    }, 120)
  }

  #write() {
    const c = this.#overlay
    const { clientWidth: w, clientHeight: h } = this.canvas
    c.setTransform(this.overlay.width / w, 0, 0, this.overlay.height / h, 0, 0)
    c.clearRect(0, 0, w, h)
    c.textAlign = 'center'
    c.lineJoin = 'round'
    const at = new THREE.Vector3()
    const near: { label: Label; x: number; y: number; z: number; chosen: boolean }[] = []
    for (const label of this.things.labels) {
      if (!label.text || !isVisible(label.group)) continue
      at.copy(label.at).applyMatrix4(label.group.matrixWorld).project(this.#camera)
      if (at.z > 1 || at.z < -1 || Math.abs(at.x) > 1 || Math.abs(at.y) > 1) continue
      near.push({ label, x: ((at.x + 1) / 2) * w, y: ((1 - at.y) / 2) * h, z: at.z, chosen: this.#selected.has(label.key) })
    }
    near.sort((a, b) => Number(b.chosen) - Number(a.chosen) || Number(!!a.label.frame) - Number(!!b.label.frame) || a.z - b.z)
    // A label that would lie on another one is left out.
    const taken = new Set<string>()
    let written = 0
    let font = ''
    for (const n of near.slice(0, 10 * maxLabels)) {
      if (written >= maxLabels) break
      const text = n.label.text.length > 40 ? n.label.text.slice(0, 39) + '…' : n.label.text
      const wanted = `${n.chosen ? '600 ' : ''}${n.label.frame ? 10 : 12}px system-ui, "DejaVu Sans", sans-serif`
      if (wanted !== font) c.font = font = wanted
      const key = font + text
      let half = this.#halves.get(key)
      if (half === undefined) {
        if (this.#halves.size > 20_000) this.#halves.clear()
        this.#halves.set(key, (half = c.measureText(text).width / 2 + 3))
      }
      const cells: string[] = []
      for (let x = Math.floor((n.x - half) / 12); x <= Math.floor((n.x + half) / 12); x++) cells.push(`${x} ${Math.floor(n.y / 13)}`, `${x} ${Math.floor((n.y - 10) / 13)}`)
      if (!n.chosen && cells.some((k) => taken.has(k))) continue
      for (const k of cells) taken.add(k)
      written++
      this.#text(text, n.x, n.y, n.chosen ? this.#colours.accent : n.label.frame ? this.#colours.quiet : this.#colours.text)
    }
    for (const p of this.#points) {
      at.copy(p).project(this.#camera)
      if (at.z > 1) continue
      c.fillStyle = this.#colours.accent
      c.beginPath()
      c.arc(((at.x + 1) / 2) * w, ((1 - at.y) / 2) * h, 4, 0, 7)
      c.fill()
    }
    const [a, b] = this.#points
    if (a && b) {
      at.copy(a).add(b).multiplyScalar(0.5).project(this.#camera)
      if (at.z <= 1) this.#text(`${a.distanceTo(b).toFixed(3)} m`, ((at.x + 1) / 2) * w, ((1 - at.y) / 2) * h - 6, this.#colours.accent)
    }
  }

  #text(text: string, x: number, y: number, colour: string) {
    const c = this.#overlay
    c.strokeStyle = this.#colours.back
    c.globalAlpha = 0.75
    c.lineWidth = 3
    c.strokeText(text, x, y)
    c.globalAlpha = 1
    c.fillStyle = colour
    c.fillText(text, x, y)
  }

  dispose() {
    cancelAnimationFrame(this.#frame)
    clearTimeout(this.#settle)
    this.#watch.disconnect()
    removeEventListener(drawEvent, this.#render)
    theme.removeEventListener('change', this.recolour)
    this.#controls.dispose()
    this.things.dispose()
    this.#renderer.dispose()
    this.#renderer.forceContextLoss()
  }
}

/** Whether this computer draws 3D without a graphics processor: smooth edges would take most of the time then. */
function inSoftware(): boolean {
  const gl = document.createElement('canvas').getContext('webgl2')
  const info = gl?.getExtension('WEBGL_debug_renderer_info')
  const name = info ? String(gl!.getParameter(info.UNMASKED_RENDERER_WEBGL)) : ''
  gl?.getExtension('WEBGL_lose_context')?.loseContext()
  return /swiftshader|llvmpipe|software/i.test(name)
}
