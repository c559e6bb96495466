// A grid as tiles: coarse ones from afar, finer ones where one looks closely.
import * as THREE from 'three'
import { piece } from '../lib/api'
import { place } from './tree'
import type { Thing } from './types'

/** The edge of a tile in pixels. */
const edge = 512
/** So many tiles of a grid are shown at once at most. */
const most = 48

/** What could not be fetched is asked for again after so long, ms. */
const pause = 2000

interface Tile {
  x: number
  y: number
  scale: number
  mesh?: THREE.Mesh<THREE.PlaneGeometry, THREE.MeshBasicMaterial>
  /** Of which snapshot the mesh is, and where that had the grid. */
  of?: string
  from?: THREE.Matrix4
  /** Is there while it is fetched. */
  abort?: AbortController
  /** What was asked for last could not be had; then it is asked for again. */
  again?: ReturnType<typeof setTimeout>
}

export class Grid {
  readonly group = new THREE.Group()
  #tiles = new Map<string, Tile>()
  #coarsest = 1

  constructor(
    private thing: Thing,
    private asOf: bigint | undefined,
    readonly changed: () => void,
  ) {
    while (Math.max(thing.columns!, thing.rows!) > edge * this.#coarsest) this.#coarsest *= 2
    this.group.userData.key = thing.key
  }

  /** Goes on as another grid: tiles stay until those of that one are there. False if it has other tiles. */
  take(thing: Thing, asOf: bigint | undefined): boolean {
    const was = this.thing
    if (thing.columns !== was.columns || thing.rows !== was.rows || thing.cell![0] !== was.cell![0] || thing.cell![1] !== was.cell![1] || !thing.pose) return false
    this.thing = thing
    this.asOf = asOf
    place(this.group, thing.pose)
    this.group.updateMatrix()
    for (const t of this.#tiles.values()) this.#put(t)
    this.group.updateMatrixWorld(true)
    return true
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
      return !is?.mesh && !is?.again
    })
    for (const [key, t] of this.#tiles) {
      if (keep.has(key)) continue
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

  /** Tells snapshots of the grid apart, and what one was before and after a correction. */
  get #version(): string {
    return `${this.thing.id} ${this.thing.version ?? ''}`
  }

  #load(at: Tile) {
    const key = `${at.scale} ${at.x} ${at.y}`
    let t = this.#tiles.get(key)
    if (!t) this.#tiles.set(key, (t = at))
    if (t.abort || t.again || t.of === this.#version) return
    void this.#fetch(key, t)
  }

  async #fetch(key: string, t: Tile) {
    const { id, version: v } = this.thing
    const of = this.#version
    this.group.updateMatrix()
    const from = this.group.matrix.clone()
    const { signal } = (t.abort = new AbortController())
    const q = {
      x0: t.x,
      y0: t.y,
      x1: Math.min(t.x + edge * t.scale, this.thing.columns!),
      y1: Math.min(t.y + edge * t.scale, this.thing.rows!),
      scale: t.scale,
    }
    let image: ImageBitmap | undefined
    try {
      const params = Object.fromEntries(Object.entries(q).map(([k, v]) => [k, String(v)]))
      const blob = await (await piece('grid', { ...params, id, v, asof: this.asOf?.toString() }, signal)).blob()
      image = await createImageBitmap(blob, { imageOrientation: 'flipY' })
    } catch {
      // Nobody may want it any more; or it is asked for again.
    }
    if (signal.aborted) return image?.close()
    t.abort = undefined
    if (image) {
      this.#clear(t)
      t.of = of
      t.from = from
      this.#show(t, image)
    } else {
      if (of === this.#version) this.#clear(t)
      t.again = setTimeout(() => {
        t.again = undefined
        this.changed() // then a camera looks again
      }, pause)
    }
    this.changed()
  }

  #show(t: Tile, image: ImageBitmap) {
    const texture = new THREE.Texture(image)
    texture.flipY = false
    texture.colorSpace = THREE.SRGBColorSpace
    texture.magFilter = THREE.NearestFilter
    texture.generateMipmaps = false
    texture.minFilter = THREE.LinearFilter
    texture.needsUpdate = true
    const size = this.#box(t).getSize(new THREE.Vector3())
    const material = new THREE.MeshBasicMaterial({ map: texture, transparent: true, depthWrite: false, side: THREE.DoubleSide, polygonOffset: true, polygonOffsetFactor: 1 })
    t.mesh = new THREE.Mesh(new THREE.PlaneGeometry(size.x, size.y), material)
    this.#put(t)
    t.mesh.renderOrder = 1 - 1 / (1 + this.#coarsest / t.scale)
    t.mesh.userData.key = this.thing.key
    this.group.add(t.mesh)
    this.group.updateMatrixWorld(true)
  }

  /** Places what a tile shows: of another snapshot, where that had it. */
  #put(t: Tile) {
    if (!t.mesh) return
    this.#box(t).getCenter(t.mesh.position)
    t.mesh.quaternion.identity()
    if (t.of === this.#version) t.from = this.group.matrix.clone()
    else t.mesh.applyMatrix4(this.group.matrix.clone().invert().multiply(t.from!))
  }

  #clear(t: Tile) {
    if (!t.mesh) return
    t.mesh.removeFromParent()
    t.mesh.geometry.dispose()
    ;(t.mesh.material.map!.image as ImageBitmap).close()
    t.mesh.material.map!.dispose()
    t.mesh.material.dispose()
    t.mesh = t.of = undefined
  }

  #drop(key: string, t: Tile) {
    this.#tiles.delete(key)
    t.abort?.abort()
    clearTimeout(t.again)
    this.#clear(t)
  }

  dispose() {
    for (const [key, t] of this.#tiles) this.#drop(key, t)
    this.group.removeFromParent()
  }
}
