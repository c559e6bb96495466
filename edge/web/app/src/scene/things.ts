// What there is to draw, kept in step with what the server says.
import * as THREE from 'three'
import { LineSegments2 } from 'three/examples/jsm/lines/LineSegments2.js'
import { LineSegmentsGeometry } from 'three/examples/jsm/lines/LineSegmentsGeometry.js'
import { piece } from '../lib/api'
import { Batch, shape } from './batch'
import { Grid } from './grid'
import { drop, fat, points, solid } from './material'
import { mesh, Robot } from './robot'
import { place, type Tree } from './tree'
import type { Colour, Frame, Pose, PoseMessage, SceneEntity, Thing, Vector } from './types'

export interface Label {
  key: string
  text: string
  group: THREE.Object3D
  at: THREE.Vector3
  frame?: boolean
}

/** Which sorts of things are drawn. */
export interface Show {
  robots: boolean
  items: boolean
  sensors: boolean
  maps: boolean
  frames: boolean
  labels: boolean
  uncertainty: boolean
}

interface Drawn {
  thing: Thing
  objects: THREE.Object3D[]
  labels: Label[]
  abort: AbortController
  robot?: Robot
  /** There was no description of the robot at this time. */
  undescribed?: { at: bigint | undefined }
  grid?: Grid
  /** Its cloud is being fetched. */
  fetching?: boolean
}

/** So many points of a cloud are fetched at most. */
const maxPoints = 200_000
const covKey = ' covariance'
/** Edges of solids that are shorter, m, are drawn so long: what has none is seen from no side. */
const thinnest = 1e-4

export class Things {
  readonly drawn = new Map<string, Drawn>()
  #parts = new Map<string, string[]>()
  #batches = new Map<string, Batch>()
  #dirty = new Set<Batch>()
  #axes = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ vertexColors: true }))
  #frameLabels: Label[] = []
  #marked = new Set<string>()
  /** The keys of what has an ellipsoid. */
  readonly uncertain = new Set<string>()
  show: Show = { robots: true, items: true, sensors: true, maps: true, frames: true, labels: true, uncertainty: true }
  /** When it is, and as of when; undefined is now. */
  at: bigint | undefined
  asOf: bigint | undefined

  constructor(
    readonly tree: Tree,
    readonly scene: THREE.Scene,
    readonly colours: () => { text: THREE.Color; quiet: THREE.Color; accent: THREE.Color },
    readonly changed: () => void,
  ) {
    this.#axes.frustumCulled = false
    this.#axes.raycast = () => {}
    scene.add(this.#axes)
  }

  /** Takes the parts of a scene that are others. */
  set(parts: Record<string, Thing[]>) {
    for (const [part, things] of Object.entries(parts)) {
      const before = new Map((this.#parts.get(part) ?? []).map((key) => [key, this.drawn.get(key)]))
      this.#parts.set(part, things.map((t) => t.key))
      for (const t of things) {
        const was = before.get(t.key)
        before.delete(t.key)
        if (was && (same(was.thing, t) || this.#follow(was, t))) continue
        if (was) this.#remove(t.key, was)
        this.#add(t)
      }
      for (const [key, was] of before) if (was) this.#remove(key, was)
    }
    this.flush()
  }

  /** Draws frames where they are now. */
  setFrames(list: Frame[]) {
    this.uncertain.delete(covKey)
    for (const b of this.#batches.values()) {
      if (b.of.delete(covKey)) this.#dirty.add(b)
    }
    if (this.show.uncertainty) {
      for (const f of list) {
        if (f.cov) this.#ellipsoid(covKey, this.tree.group(f.name), new THREE.Matrix4(), f.cov)
      }
    }
    this.flush()
    this.#drawAxes(list)
  }

  flush() {
    for (const b of this.#dirty) b.draw()
    this.#dirty.clear()
  }

  get labels(): Label[] {
    const all = this.show.frames && this.show.labels ? [...this.#frameLabels] : []
    for (const d of this.drawn.values()) if (this.show.labels && this.#shown(d.thing)) all.push(...d.labels)
    return all
  }

  #shown(t: Thing): boolean {
    switch (t.kind) {
      case 'robot':
        return this.show.robots
      case 'scan':
      case 'points':
        return this.show.sensors
      case 'grid':
        return this.show.maps
    }
    return this.show.items
  }

  /** Tries robots again of which there was no description at another time. */
  retry() {
    for (const d of [...this.drawn.values()]) {
      if (!d.undescribed || d.undescribed.at === this.at) continue
      this.#remove(d.thing.key, d)
      this.#add(d.thing)
    }
  }

  /** Shows what is to be shown now, after show was changed. */
  reshow() {
    const all = [...this.drawn.values()].map((d) => d.thing)
    for (const d of [...this.drawn.values()]) this.#remove(d.thing.key, d)
    for (const t of all) this.#add(t)
    this.setFrames(this.tree.frames.list)
  }

  #add(t: Thing) {
    const d: Drawn = { thing: t, objects: [], labels: [], abort: new AbortController() }
    this.drawn.set(t.key, d)
    if (!this.#shown(t)) return
    if (t.kind === 'robot') {
      d.robot = new Robot(t.key, t.name!, this.tree, this.changed)
      const at = this.at
      const none = () => {
        d.undescribed = { at }
      }
      d.robot.load(at, this.asOf).then((is) => !is && none(), none)
      return
    }
    const group = this.tree.group(t.frame ?? '')
    if (t.kind === 'scene') {
      for (const e of t.entities ?? []) this.#draw(d, e)
      if (t.cov && t.pose && this.show.uncertainty) this.#ellipsoid(t.key, group, of(t.pose), t.cov)
    }
    if (t.kind === 'scan') this.#object(d, group, scan(t, this.colours().text), t.pose)
    if (t.kind === 'points') void this.#points(d)
    if (t.kind === 'grid') {
      d.grid = new Grid(t, this.asOf, this.changed)
      this.#object(d, group, d.grid.group, t.pose)
    }
    if (t.kind === 'poses') {
      for (const p of t.poses ?? []) {
        this.#arrow(t.key, group, of(p), 0.2, 0.02, 0.07, 0.05, this.colours().quiet, 1)
      }
    }
  }

  /**
   * Has what is fetched apart, and is there or on its way, go on as another of the same sort: what is shown stays until
   * that is there. False where it has to be drawn anew.
   */
  #follow(d: Drawn, t: Thing): boolean {
    if (t.kind !== d.thing.kind || t.key !== d.thing.key || !this.#shown(t)) return false
    if (t.kind === 'points') {
      d.thing = t
      void this.#points(d)
      return true
    }
    if (t.kind !== 'grid' || t.frame !== d.thing.frame || !d.grid?.take(t, this.asOf)) return false
    d.thing = t
    return true
  }

  #object(d: Drawn, group: THREE.Object3D, o: THREE.Object3D, at?: Pose) {
    if (at) place(o, at)
    o.traverse((c) => (c.userData.key = d.thing.key))
    group.add(o)
    o.updateMatrixWorld(true)
    d.objects.push(o)
  }

  #remove(key: string, d: Drawn) {
    this.drawn.delete(key)
    this.uncertain.delete(key)
    d.abort.abort()
    d.robot?.dispose()
    d.grid?.dispose()
    for (const b of this.#batches.values()) if (b.of.delete(key)) this.#dirty.add(b)
    this.#clear(d)
  }

  #clear(d: Drawn) {
    for (const o of d.objects.splice(0)) {
      o.removeFromParent()
      o.traverse((c) => {
        const m = c as THREE.Mesh
        m.geometry?.dispose()
        for (const one of [m.material ?? []].flat()) drop(one)
      })
    }
  }

  #batch(name: string, clear: boolean, group: THREE.Object3D): Batch {
    const key = `${name}|${clear}|${group.id}`
    let b = this.#batches.get(key)
    if (!b) this.#batches.set(key, (b = new Batch(name, clear, group)))
    return b
  }

  #solid(key: string, name: string, group: THREE.Object3D, matrix: THREE.Matrix4, colour: THREE.Color, alpha: number) {
    const b = this.#batch(name, alpha < 0.995, group)
    b.add(key, { matrix, colour, alpha })
    this.#dirty.add(b)
  }

  #arrow(key: string, group: THREE.Object3D, at: THREE.Matrix4, shaft: number, width: number, head: number, headWidth: number, colour: THREE.Color, alpha: number) {
    // An arrow goes along x, a shape along z.
    const along = new THREE.Matrix4().makeRotationY(Math.PI / 2)
    const part = (from: number, length: number, wide: number) =>
      at.clone().multiply(along).multiply(new THREE.Matrix4().makeTranslation(0, 0, from + length / 2)).scale(new THREE.Vector3(wide, wide, length))
    this.#solid(key, 'cylinder 1 1', group, part(0, shaft, width), colour, alpha)
    this.#solid(key, 'cylinder 1 0', group, part(shaft, head, headWidth), colour, alpha)
  }

  /** The ellipsoid in which a position is with 95 %. */
  #ellipsoid(key: string, group: THREE.Object3D, at: THREE.Matrix4, c: number[]) {
    const [xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0] = c
    this.uncertain.add(key)
    // A factor L of the covariance, L·Lᵀ, takes the unit sphere to the ellipsoid.
    const l11 = Math.sqrt(Math.max(xx, 1e-8))
    const l21 = xy / l11
    const l31 = xz / l11
    const l22 = Math.sqrt(Math.max(yy - l21 * l21, 1e-8))
    const l32 = (yz - l21 * l31) / l22
    const l33 = Math.sqrt(Math.max(zz - l31 * l31 - l32 * l32, 1e-8))
    const k = 2.795 * 2 // √χ²(3; 0.95), of a sphere of diameter 1
    const m = new THREE.Matrix4().set(k * l11, 0, 0, 0, k * l21, k * l22, 0, 0, k * l31, k * l32, k * l33, 0, 0, 0, 0, 1)
    const colours = this.colours()
    const b = this.#batch('sphere', true, group)
    b.add(key, { matrix: at.clone().multiply(m), colour: this.#marked.has(key) ? colours.accent : colours.quiet, alpha: 0.25, uncertain: true })
    this.#dirty.add(b)
  }

  /** Has the uncertainty of things stand out. */
  mark(keys: Set<string>) {
    const both = new Set([...this.#marked, ...keys])
    this.#marked = keys
    const colours = this.colours()
    for (const b of this.#batches.values()) {
      for (const key of both) {
        for (const s of b.of.get(key) ?? []) {
          if (!s.uncertain) continue
          s.colour = keys.has(key) ? colours.accent : colours.quiet
          this.#dirty.add(b)
        }
      }
    }
    this.flush()
  }

  #draw(d: Drawn, e: SceneEntity) {
    const key = d.thing.key
    const group = this.tree.group(e.frameId ?? '')
    const put = (name: string, pose: PoseMessage | undefined, size: Vector | undefined, c: Colour | undefined) =>
      this.#solid(key, name, group, matrix(pose, size && thick(size)), colour(c), num(c?.a))
    for (const c of e.cubes ?? []) put('cube', c.pose, c.size, c.color)
    for (const c of e.spheres ?? []) put('sphere', c.pose, c.size, c.color)
    for (const c of e.cylinders ?? []) put(`cylinder ${round(c.bottomScale)} ${round(c.topScale)}`, c.pose, c.size, c.color)
    for (const a of e.arrows ?? []) {
      this.#arrow(key, group, matrix(a.pose), num(a.shaftLength), num(a.shaftDiameter), num(a.headLength), num(a.headDiameter), colour(a.color), num(a.color?.a))
    }
    for (const l of e.lines ?? []) {
      const o = line(l)
      if (o) this.#object(d, group, o)
    }
    for (const t of e.triangles ?? []) this.#object(d, group, triangles(t))
    for (const m of e.models ?? []) {
      const at = new THREE.Group()
      matrix(m.pose, m.scale).decompose(at.position, at.quaternion, at.scale)
      // There are not so many opacities that each has a material.
      const alpha = m.overrideColor ? Math.max(round(m.color?.a), 0.05) : 1
      const look = solid(m.overrideColor ? colour(m.color) : new THREE.Color(0x9aa5b5), alpha, false)
      const box = new THREE.Mesh(shape('cube').clone().scale(0.1, 0.1, 0.1), look)
      at.add(box)
      this.#object(d, group, at)
      if (m.url?.startsWith('package://')) {
        mesh(m.url, look, d.abort.signal).then(
          (o) => {
            at.remove(box)
            box.geometry.dispose()
            at.add(o)
            const own = new Set<THREE.Material>()
            o.traverse((c) => {
              c.userData.key = key
              for (const one of [(c as THREE.Mesh).material ?? []].flat()) if (one !== look) own.add(one)
            })
            for (const one of own) fade(one, alpha)
            this.changed()
          },
          () => {}, // the box stays
        )
      }
    }
    for (const t of e.texts ?? []) {
      d.labels.push({ key, text: t.text ?? '', group, at: vector(t.pose?.position) })
    }
  }

  /** Fetches a cloud, and then the newest, as long as there are others by then; the one before is shown meanwhile. */
  async #points(d: Drawn) {
    if (d.fetching) return
    d.fetching = true
    for (let t: Thing | undefined; t !== d.thing; ) {
      t = d.thing
      let o: THREE.Object3D | undefined
      try {
        o = cloud(await (await piece('points', { id: t.id, v: t.version, max: String(maxPoints), asof: this.asOf?.toString() }, d.abort.signal)).arrayBuffer())
      } catch (e) {
        if (d.abort.signal.aborted) return
        if (t !== d.thing) continue // it may be forgotten already
        console.error(e)
      }
      if (d.abort.signal.aborted) return
      this.#clear(d)
      if (o) this.#object(d, this.tree.group(t.frame ?? ''), o, t.pose)
      this.changed()
    }
    d.fetching = false
  }

  #drawAxes(list: Frame[]) {
    const shown = this.show.frames ? list.filter((f) => this.tree.shown(f.name)) : []
    const names = new Set(shown.map((f) => f.name))
    if (this.show.frames && this.tree.frames.fixed) names.add(this.tree.frames.fixed)
    const at: number[] = []
    const colours: number[] = []
    const o = new THREE.Vector3()
    const tip = new THREE.Vector3()
    this.#frameLabels = []
    for (const name of names) {
      const group = this.tree.group(name)
      const length = name === this.tree.frames.fixed ? 0.5 : 0.12
      o.setFromMatrixPosition(group.matrixWorld)
      for (let i = 0; i < 3; i++) {
        tip.set(0, 0, 0).setComponent(i, length).applyMatrix4(group.matrixWorld)
        at.push(o.x, o.y, o.z, tip.x, tip.y, tip.z)
        const c = [[0.9, 0.25, 0.25], [0.2, 0.7, 0.25], [0.3, 0.5, 1]][i]!
        colours.push(...c, ...c)
      }
      this.#frameLabels.push({ key: 'frame ' + name, text: name, group, at: new THREE.Vector3(), frame: true })
    }
    const g = this.#axes.geometry
    g.setAttribute('position', new THREE.Float32BufferAttribute(at, 3))
    g.setAttribute('color', new THREE.Float32BufferAttribute(colours, 3))
  }

  /** How many meshes of robots the server does not have. */
  get missingMeshes(): number {
    let n = 0
    for (const d of this.drawn.values()) n += d.robot?.missing ?? 0
    return n
  }

  /** Chooses what is drawn for a camera. */
  look(camera: THREE.PerspectiveCamera, height: number) {
    for (const d of this.drawn.values()) d.grid?.look(camera, height)
  }

  /** The edges of the boxes about things, in the world. */
  edges(keys: Set<string>): Float32Array {
    const out: number[] = []
    const box = (m: THREE.Matrix4, least: THREE.Vector3, most: THREE.Vector3) => {
      const corner = (i: number) => new THREE.Vector3(i & 1 ? most.x : least.x, i & 2 ? most.y : least.y, i & 4 ? most.z : least.z).applyMatrix4(m)
      const c = Array.from({ length: 8 }, (_, i) => corner(i))
      for (const [a, b] of [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]] as const) out.push(...c[a]!.toArray(), ...c[b]!.toArray())
    }
    const half = new THREE.Vector3(0.52, 0.52, 0.52)
    for (const b of this.#batches.values()) {
      for (const key of keys) {
        for (const s of b.of.get(key) ?? []) if (!s.uncertain) box(b.parent.matrixWorld.clone().multiply(s.matrix), half.clone().negate(), half)
      }
    }
    for (const key of keys) {
      const d = this.drawn.get(key)
      for (const o of d?.robot?.parts ?? d?.objects ?? []) {
        const around = new THREE.Box3().setFromObject(o)
        if (!around.isEmpty()) box(new THREE.Matrix4(), around.min, around.max)
      }
    }
    return new Float32Array(out)
  }

  /** Widens a box to what is drawn, but for what is hardly there, such as the box of a room. */
  around(box: THREE.Box3) {
    const unit = new THREE.Box3()
    const m = new THREE.Matrix4()
    for (const b of this.#batches.values()) {
      if (!isVisible(b.parent)) continue
      for (const s of [...b.of.values()].flat()) {
        if (s.uncertain || s.alpha < faint) continue
        unit.min.setScalar(-0.5)
        unit.max.setScalar(0.5)
        box.union(unit.applyMatrix4(m.multiplyMatrices(b.parent.matrixWorld, s.matrix)))
      }
    }
    for (const d of this.drawn.values()) {
      for (const o of d.robot?.parts ?? d.objects) if (isVisible(o)) box.union(unit.setFromObject(o))
    }
  }

  dispose() {
    for (const [key, d] of [...this.drawn]) this.#remove(key, d)
    for (const b of this.#batches.values()) b.dispose()
    this.#axes.geometry.dispose()
  }
}

/** Less opaque things are looked through. */
export const faint = 0.1

export function isVisible(o: THREE.Object3D | null): boolean {
  for (; o; o = o.parent) if (!o.visible) return false
  return true
}

/** Whether two things are drawn alike: a description of a robot that comes again is none that has to be read again. */
function same(a: Thing, b: Thing): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** A number of a message; what is left out, or none, is 0. */
const num = (x: unknown) => (typeof x === 'number' && Number.isFinite(x) ? x : 0)

const round = (x: number | undefined) => Math.round(num(x) * 20) / 20

function colour(c: Colour | undefined): THREE.Color {
  return new THREE.Color().setRGB(num(c?.r), num(c?.g), num(c?.b), THREE.SRGBColorSpace)
}

function of(p: Pose): THREE.Matrix4 {
  return new THREE.Matrix4().compose(new THREE.Vector3(p[0], p[1], p[2]), new THREE.Quaternion(p[3], p[4], p[5], p[6]), new THREE.Vector3(1, 1, 1))
}

function vector(v: Vector | undefined): THREE.Vector3 {
  return new THREE.Vector3(num(v?.x), num(v?.y), num(v?.z))
}

function thick(v: Vector): Vector {
  const edge = (x: unknown) => (Math.abs(num(x)) < thinnest ? thinnest : num(x))
  return { x: edge(v.x), y: edge(v.y), z: edge(v.z) }
}

/** Has a material of a mesh let through as much as the thing that it is of. */
function fade(m: THREE.Material, alpha: number) {
  m.opacity *= alpha
  m.transparent ||= alpha < 1
}

function matrix(p: PoseMessage | undefined, size?: Vector): THREE.Matrix4 {
  const o = p?.orientation
  const q = new THREE.Quaternion(num(o?.x), num(o?.y), num(o?.z), num(o?.w))
  if (q.lengthSq() === 0) q.identity()
  return new THREE.Matrix4().compose(
    vector(p?.position),
    q.normalize(),
    size ? vector(size) : new THREE.Vector3(1, 1, 1),
  )
}

function line(l: NonNullable<SceneEntity['lines']>[number]): THREE.Object3D | undefined {
  let at = (l.points ?? []).map((p) => vector(p).toArray())
  let colours = (l.colors ?? []).map(colour)
  if (l.indices?.length) {
    if (colours.length) colours = l.indices.map((i) => colours[i] ?? colour(l.color))
    at = l.indices.flatMap((i) => (at[i] ? [at[i]] : []))
  }
  if (at.length < 2) return undefined
  const ends: [number, number][] = []
  if (l.type === 'LINE_LIST') for (let i = 0; i + 1 < at.length; i += 2) ends.push([i, i + 1])
  else for (let i = 0; i + 1 < at.length; i++) ends.push([i, i + 1])
  if (l.type === 'LINE_LOOP') ends.push([at.length - 1, 0])
  const g = new LineSegmentsGeometry()
  g.setPositions(ends.flatMap(([a, b]) => [...at[a]!, ...at[b]!]))
  if (colours.length) g.setColors(ends.flat().flatMap((i) => (colours[i] ?? colour(l.color)).toArray()))
  const m = fat(colour(l.color), num(l.color?.a), colours.length > 0, num(l.thickness) || 1, !l.scaleInvariant)
  const o = new LineSegments2(g, m)
  matrix(l.pose).decompose(o.position, o.quaternion, o.scale)
  return o
}

function triangles(t: NonNullable<SceneEntity['triangles']>[number]): THREE.Object3D {
  const g = new THREE.BufferGeometry()
  g.setAttribute('position', new THREE.Float32BufferAttribute((t.points ?? []).flatMap((p) => vector(p).toArray()), 3))
  if (t.indices?.length) g.setIndex(t.indices.filter((i) => i < (t.points?.length ?? 0)))
  if (t.colors?.length) g.setAttribute('color', new THREE.Float32BufferAttribute(t.colors.flatMap((c) => colour(c).toArray()), 3))
  g.computeVertexNormals()
  const m = solid(colour(t.color), num(t.color?.a), !!t.colors?.length)
  const o = new THREE.Mesh(g, m)
  matrix(t.pose).decompose(o.position, o.quaternion, o.scale)
  return o
}

function scan(t: Thing, c: THREE.Color): THREE.Object3D {
  const ranges = t.ranges ?? []
  const from = t.start ?? 0
  const step = ranges.length > 1 ? ((t.end ?? 0) - from) / (ranges.length - 1) : 0
  const at: number[] = []
  ranges.forEach((r, i) => {
    if (r > 0) at.push(r * Math.cos(from + i * step), r * Math.sin(from + i * step), 0)
  })
  const g = new THREE.BufferGeometry()
  g.setAttribute('position', new THREE.Float32BufferAttribute(at, 3))
  return new THREE.Points(g, points(c, 4))
}

/** Colours are sums of light here, and not as screens have them. */
const linear = Uint8Array.from({ length: 256 }, (_, i) => Math.round(255 * new THREE.Color().setRGB(i / 255, 0, 0, THREE.SRGBColorSpace).r))

/** A cloud as /view/points gives it. */
function cloud(data: ArrayBuffer): THREE.Object3D {
  const n = Math.floor(data.byteLength / 16)
  const at = new THREE.InterleavedBufferAttribute(new THREE.InterleavedBuffer(new Float32Array(data, 0, n * 4), 4), 3, 0)
  const bytes = new Uint8Array(data, 0, n * 16)
  const g = new THREE.BufferGeometry()
  g.setAttribute('position', at)
  if (bytes[15] === 0) {
    // Without colours of its own, by height.
    let least = Infinity
    let most = -Infinity
    for (let i = 0; i < n; i++) {
      least = Math.min(least, at.getZ(i))
      most = Math.max(most, at.getZ(i))
    }
    const c = new THREE.Color()
    for (let i = 0; i < n; i++) {
      c.setHSL(0.66 * (1 - (at.getZ(i) - least) / (most - least || 1)), 0.75, 0.5)
      bytes.set([c.r * 255, c.g * 255, c.b * 255], i * 16 + 12)
    }
  }
  else for (let i = 0; i < n; i++) for (let k = 12; k < 15; k++) bytes[i * 16 + k] = linear[bytes[i * 16 + k]!]!
  g.setAttribute('color', new THREE.InterleavedBufferAttribute(new THREE.InterleavedBuffer(bytes, 16), 3, 12, true))
  return new THREE.Points(g, points(undefined, 2.5))
}
