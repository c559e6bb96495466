// Solids of one shape in one frame, drawn by one call.
import * as THREE from 'three'
import { Boxes } from './box'

export interface Solid {
  matrix: THREE.Matrix4
  colour: THREE.Color
  alpha: number
  /** It says how uncertain something is. */
  uncertain?: boolean
}

const shapes = new Map<string, THREE.BufferGeometry>()

/** A shape of size 1: cube, sphere, cone, or "cylinder BOTTOM TOP" with the scales of its ends. Its axis is z. */
export function shape(name: string): THREE.BufferGeometry {
  let g = shapes.get(name)
  if (!g) {
    const [kind, bottom, top] = name.split(' ')
    if (kind === 'cube') g = new THREE.BoxGeometry()
    else if (kind === 'sphere') g = new THREE.SphereGeometry(0.5, 20, 14)
    else g = new THREE.CylinderGeometry(Number(top) / 2, Number(bottom) / 2, 1, 24).rotateX(Math.PI / 2)
    shapes.set(name, g)
  }
  return g
}

function material(clear: boolean): THREE.MeshLambertMaterial {
  const m = new THREE.MeshLambertMaterial({ transparent: clear, depthWrite: !clear })
  if (!clear) return m
  // An opacity for each instance.
  m.onBeforeCompile = (s) => {
    s.vertexShader = s.vertexShader
      .replace('#include <common>', '#include <common>\nattribute float alpha;\nvarying float vAlpha;')
      .replace('#include <begin_vertex>', '#include <begin_vertex>\nvAlpha = alpha;')
    s.fragmentShader = s.fragmentShader
      .replace('#include <common>', '#include <common>\nvarying float vAlpha;')
      .replace('#include <opaque_fragment>', 'diffuseColor.a *= vAlpha;\n#include <opaque_fragment>')
  }
  return m
}

const opaque = material(false)
const clear = material(true)
/** Draws solids of one shape below a frame. */
export class Batch {
  #mesh?: THREE.InstancedMesh | Boxes
  #keys: string[] = []
  /** By the thing that they are of. */
  readonly of = new Map<string, Solid[]>()

  constructor(
    readonly shape: string,
    readonly clear: boolean,
    readonly parent: THREE.Object3D,
  ) {}

  add(key: string, solid: Solid) {
    const list = this.of.get(key)
    if (list) list.push(solid)
    else this.of.set(key, [solid])
  }

  /** Draws what there is now. */
  draw() {
    const solids: Solid[] = []
    this.#keys = []
    for (const [key, list] of this.of) {
      for (const s of list) {
        solids.push(s)
        this.#keys.push(s.uncertain ? '' : key) // one clicks through it
      }
    }
    const n = solids.length
    if (!this.#mesh || room(this.#mesh) < n || room(this.#mesh) > 4 * n + 64) {
      this.dispose()
      if (!n) return
      this.#mesh = this.#make(Math.ceil(n * 1.25))
      this.#mesh.userData.keyOf = (i: number) => this.#keys[i]
      if (this.clear) this.#mesh.renderOrder = 2
      this.parent.add(this.#mesh)
    }
    const mesh = this.#mesh
    if (mesh instanceof Boxes) {
      solids.forEach((s, i) => mesh.set(i, s.matrix, s.colour, s.alpha))
      mesh.show(n)
      return
    }
    const alpha = mesh.geometry.getAttribute('alpha') as THREE.BufferAttribute | undefined
    solids.forEach((s, i) => {
      mesh.setMatrixAt(i, s.matrix)
      mesh.setColorAt(i, s.colour)
      alpha?.setX(i, s.alpha)
    })
    mesh.count = n
    mesh.instanceMatrix.needsUpdate = true
    mesh.instanceColor!.needsUpdate = true
    if (alpha) alpha.needsUpdate = true
    mesh.boundingSphere = null
    mesh.boundingBox = null
  }

  #make(room: number): THREE.InstancedMesh | Boxes {
    if (this.shape === 'cube') return new Boxes(room, this.clear)
    const g = shape(this.shape).clone()
    if (this.clear) g.setAttribute('alpha', new THREE.InstancedBufferAttribute(new Float32Array(room), 1))
    const mesh = new THREE.InstancedMesh(g, this.clear ? clear : opaque, room)
    mesh.setColorAt(0, new THREE.Color())
    return mesh
  }

  dispose() {
    if (!this.#mesh) return
    this.#mesh.removeFromParent()
    this.#mesh.geometry.dispose()
    this.#mesh.dispose()
    this.#mesh = undefined
  }
}

const room = (m: THREE.InstancedMesh | Boxes) => (m instanceof Boxes ? m.room : m.instanceMatrix.count)
