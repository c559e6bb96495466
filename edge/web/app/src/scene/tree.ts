// The transform tree as groups of three.js: each frame is a group below that of its parent.
import * as THREE from 'three'
import type { Frames, Pose } from './types'

export function place(o: THREE.Object3D, p: Pose) {
  o.position.set(p[0], p[1], p[2])
  o.quaternion.set(p[3], p[4], p[5], p[6])
}

export class Tree {
  /** In which all frames are; it is placed so that the fixed one is at the origin. */
  readonly top = new THREE.Group()
  #groups = new Map<string, THREE.Group>()
  #frames: Frames = { fixed: '', list: [] }
  /** Where frames are that nobody told of, such as links of a robot that moves no joint. */
  #supposed = new Map<string, { parent: string; pose: Pose }>()
  #parents = new Map<string, string>()

  get frames() {
    return this.#frames
  }

  group(frame: string): THREE.Group {
    let g = this.#groups.get(frame)
    if (!g) {
      g = new THREE.Group()
      g.name = frame
      this.#groups.set(frame, g)
      this.top.add(g)
    }
    return g
  }

  suppose(frame: string, parent: string, pose: Pose) {
    this.#supposed.set(frame, { parent, pose })
  }

  set(frames: Frames) {
    this.#frames = frames
    this.arrange()
  }

  /** Hangs all frames where they are, and hides those that are nowhere in the fixed frame. */
  arrange() {
    this.#parents.clear()
    const known = new Set<string>()
    const hang = (name: string, parent: string, pose: Pose) => {
      known.add(name)
      this.#parents.set(name, parent)
      const g = this.group(name)
      const above = this.group(parent)
      if (g.parent !== above) above.add(g)
      g.visible = true // it may have been apart before
      place(g, pose)
    }
    for (const f of this.#frames.list) hang(f.name, f.parent, f.pose)
    for (const [name, s] of this.#supposed) if (!known.has(name)) hang(name, s.parent, s.pose)
    const root = this.#root(this.#frames.fixed)
    for (const [name, g] of this.#groups) {
      if (this.#parents.has(name)) continue
      if (g.parent !== this.top) this.top.add(g)
      g.position.set(0, 0, 0)
      g.quaternion.identity()
      g.visible = name === root
    }
    this.top.matrixAutoUpdate = false
    this.top.matrix.identity()
    this.top.updateMatrixWorld(true)
    this.top.matrix.copy(this.group(this.#frames.fixed).matrixWorld).invert()
    this.top.updateMatrixWorld(true)
  }

  #root(name: string): string {
    for (let i = 0; i < 10_000; i++) {
      const p = this.#parents.get(name)
      if (p === undefined) break
      name = p
    }
    return name
  }

  /** Whether a frame is somewhere in the fixed one. */
  shown(name: string): boolean {
    return this.#groups.has(name) && this.#root(name) === this.#root(this.#frames.fixed)
  }

  parent(name: string): string | undefined {
    return this.#parents.get(name)
  }

  names(): string[] {
    const all = new Set<string>([this.#frames.fixed])
    for (const f of this.#frames.list) all.add(f.name).add(f.parent)
    return [...all].filter(Boolean).sort()
  }
}
