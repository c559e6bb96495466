// A grid as tiles: coarse ones from afar, finer ones where one looks closely.
import * as THREE from 'three'
import { piece } from '../lib/api'
import type { Thing } from './types'

/** The edge of a tile in pixels. */
const edge = 512
/** So many tiles of a grid are shown at once at most. */
const most = 48

interface Tile {
  x: number
  y: number
  scale: number
  mesh?: THREE.Mesh<THREE.PlaneGeometry, THREE.MeshBasicMaterial>
  abort?: AbortController
  failed?: boolean
}

export class Grid {
  readonly group = new THREE.Group()
  #tiles = new Map<string, Tile>()
  #coarsest = 1

  constructor(
    readonly thing: Thing,
    readonly asOf: bigint | undefined,
    readonly changed: () => void,
  ) {
    while (Math.max(thing.columns!, thing.rows!) > edge * this.#coarsest) this.#coarsest *= 2
    this.group.userData.key = thing.key
  }

  /** Chooses the tiles for a camera; a canvas has so many pixels in height. */
  look(camera: THREE.PerspectiveCamera, height: number) {
    const inverse = this.group.matrixWorld.clone().invert()
    const eye = camera.position.clone().applyMatrix4(inverse)
    const frustum = new THREE.Frustum().setFromProjectionMatrix(
      new THREE.Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse).multiply(this.group.matrixWorld),
    )
    const perMetre = height / (2 * Math.tan((camera.fov * Math.PI) / 360))
    const [cx, cy] = this.thing.cell!
    const wanted: Tile[] = []
    const open: Tile[] = [{ x: 0, y: 0, scale: this.#coarsest }]
    while (open.length) {
      const t = open.shift()!
      const box = this.#box(t)
      if (!frustum.intersectsBox(box) && t.scale !== this.#coarsest) continue
      const far = Math.max(box.distanceToPoint(eye), 0.01)
      const pixel = (t.scale * Math.max(cx, cy) * perMetre) / far
      if (pixel > 1.5 && t.scale > 1 && wanted.length + open.length + 4 <= most) {
        const half = t.scale / 2
        for (const [dx, dy] of [[0, 0], [1, 0], [0, 1], [1, 1]] as const) {
          const c = { x: t.x + dx * edge * half, y: t.y + dy * edge * half, scale: half }
          if (c.x < this.thing.columns! && c.y < this.thing.rows!) open.push(c)
        }
      } else wanted.push(t)
    }
    const keep = new Set(wanted.map((t) => `${t.scale} ${t.x} ${t.y}`))
    for (const t of wanted) this.#load(t)
    const loading = wanted.some((t) => {
      const is = this.#tiles.get(`${t.scale} ${t.x} ${t.y}`)
      return !is?.mesh && !is?.failed
    })
    for (const [key, t] of this.#tiles) {
      if (keep.has(key)) continue
      if (!t.mesh) t.abort?.abort()
      // What was shown stays until what is finer is there.
      if (loading && t.mesh) continue
      this.#drop(key, t)
    }
  }

  #box(t: Tile): THREE.Box3 {
    const [cx, cy] = this.thing.cell!
    return new THREE.Box3(
      new THREE.Vector3(t.x * cx, t.y * cy, -0.01),
      new THREE.Vector3(Math.min(t.x + edge * t.scale, this.thing.columns!) * cx, Math.min(t.y + edge * t.scale, this.thing.rows!) * cy, 0.01),
    )
  }

  #load(at: Tile) {
    const key = `${at.scale} ${at.x} ${at.y}`
    if (this.#tiles.has(key)) return
    const t: Tile = { ...at, abort: new AbortController() }
    this.#tiles.set(key, t)
    const x1 = Math.min(t.x + edge * t.scale, this.thing.columns!)
    const y1 = Math.min(t.y + edge * t.scale, this.thing.rows!)
    const q = { id: this.thing.id, x0: t.x, y0: t.y, x1, y1, scale: t.scale }
    void (async () => {
      try {
        const params = Object.fromEntries(Object.entries(q).map(([k, v]) => [k, String(v)]))
        const blob = await (await piece('grid', { ...params, asof: this.asOf?.toString() }, t.abort!.signal)).blob()
        const image = await createImageBitmap(blob, { imageOrientation: 'flipY' })
        if (this.#tiles.get(key) !== t) return image.close()
        const texture = new THREE.Texture(image)
        texture.flipY = false
        texture.colorSpace = THREE.SRGBColorSpace
        texture.magFilter = THREE.NearestFilter
        texture.generateMipmaps = false
        texture.minFilter = THREE.LinearFilter
        texture.needsUpdate = true
        const box = this.#box(t)
        const size = box.getSize(new THREE.Vector3())
        const material = new THREE.MeshBasicMaterial({ map: texture, transparent: true, depthWrite: false, side: THREE.DoubleSide, polygonOffset: true, polygonOffsetFactor: 1 })
        t.mesh = new THREE.Mesh(new THREE.PlaneGeometry(size.x, size.y), material)
        t.mesh.position.set(box.min.x + size.x / 2, box.min.y + size.y / 2, 0)
        t.mesh.renderOrder = 1 - 1 / (1 + this.#coarsest / t.scale)
        t.mesh.userData.key = this.thing.key
        this.group.add(t.mesh)
      } catch {
        t.failed = true // what it has of it stays
      }
      this.changed()
    })()
  }

  #drop(key: string, t: Tile) {
    this.#tiles.delete(key)
    if (!t.mesh) return
    t.mesh.removeFromParent()
    t.mesh.geometry.dispose()
    ;(t.mesh.material.map!.image as ImageBitmap).close()
    t.mesh.material.map!.dispose()
    t.mesh.material.dispose()
  }

  dispose() {
    for (const [key, t] of this.#tiles) {
      t.abort?.abort()
      this.#drop(key, t)
    }
    this.group.removeFromParent()
  }
}
