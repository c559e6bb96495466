// A robot from its description: the pictures of its links below their frames.
import * as THREE from 'three'
import type { URDFRobot } from 'urdf-loader'
import { piece } from '../lib/api'
import type { Tree } from './tree'
import type { Pose } from './types'

/** A mesh from the server; rejected where it has none, or one that cannot be read. */
export async function mesh(uri: string, material: THREE.Material, signal: AbortSignal): Promise<THREE.Object3D> {
  const data = await (await piece('asset', { uri }, signal)).arrayBuffer()
  if (/\.stl$/i.test(uri)) {
    const { STLLoader } = await import('three/examples/jsm/loaders/STLLoader.js')
    const g = new STLLoader().parse(data)
    const normals = g.getAttribute('normal')
    // Some programs write files without.
    if (!normals || !(normals.array as Float32Array).some((v) => v !== 0)) g.computeVertexNormals()
    return new THREE.Mesh(g, material)
  }
  if (/\.dae$/i.test(uri)) {
    const { ColladaLoader } = await import('three/examples/jsm/loaders/ColladaLoader.js')
    const parsed = new ColladaLoader().parse(new TextDecoder().decode(data), '')
    if (parsed) {
      // It was turned to have y above, as three.js mostly has; here z is above, as in the file.
      parsed.scene.position.set(0, 0, 0)
      parsed.scene.quaternion.identity()
      return parsed.scene
    }
  }
  throw new Error(`a mesh of this kind is not read: ${uri}`)
}

const plain = new THREE.MeshLambertMaterial({ color: 0x9aa5b5 })

export class Robot {
  readonly parts: THREE.Object3D[] = []
  #abort = new AbortController()
  /** Meshes that the server does not have. */
  missing = 0

  constructor(
    readonly key: string,
    readonly name: string,
    readonly tree: Tree,
    readonly changed: () => void,
  ) {}

  /** Reads the description at a time; false if there is none. */
  async load(at: bigint | undefined, asOf: bigint | undefined): Promise<boolean> {
    // What reads descriptions is loaded with the first robot.
    const { default: URDFLoader } = await import('urdf-loader')
    const text = await (await piece('robot', { name: this.name, t: at?.toString(), asof: asOf?.toString() }, this.#abort.signal)).text()
    if (!text || this.#abort.signal.aborted) return false
    const loader = new URDFLoader()
    loader.packages = (name: string) => `package://${name}`
    loader.loadMeshCb = (uri, _manager, material, done) => {
      mesh(uri, material, this.#abort.signal).then(
        (m) => {
          this.#own(m)
          done(m)
          this.changed()
        },
        () => {
          if (this.#abort.signal.aborted) return
          this.missing++
          done(this.#own(new THREE.Mesh(new THREE.BoxGeometry(0.08, 0.08, 0.08), material)))
          this.changed()
        },
      )
    }
    this.#hang(loader.parse(text))
    this.changed()
    return true
  }

  #hang(robot: URDFRobot) {
    const frame = (link: string) => (link.includes('/') ? link : `${this.name}/${link}`)
    for (const joint of Object.values(robot.joints)) {
      const parent = joint.parent as unknown as { urdfName?: string } | null
      const child = joint.children.find((c) => (c as { isURDFLink?: boolean }).isURDFLink) as { urdfName?: string } | undefined
      if (!parent?.urdfName || !child?.urdfName) continue
      const p = joint.position
      const q = joint.quaternion
      const pose: Pose = [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
      this.tree.suppose(frame(child.urdfName), frame(parent.urdfName), pose)
    }
    for (const [name, link] of Object.entries(robot.links)) {
      const looks = link.children.filter((c) => (c as { isURDFVisual?: boolean }).isURDFVisual)
      const joints = link.children.filter((c) => (c as { isURDFJoint?: boolean }).isURDFJoint)
      const into = this.tree.group(frame(name))
      const parts = looks.length ? looks : joints.map((j) => bone(j.position)).filter((b) => b !== undefined)
      for (const p of parts) {
        into.add(p)
        this.#own(p)
        this.parts.push(p)
      }
    }
    this.tree.arrange()
  }

  #own(o: THREE.Object3D): THREE.Object3D {
    o.traverse((c) => (c.userData.key = this.key))
    return o
  }

  dispose() {
    this.#abort.abort()
    for (const p of this.parts) {
      p.removeFromParent()
      p.traverse((c) => (c as THREE.Mesh).geometry?.dispose())
    }
  }
}

/** A box from a link to one that hangs on it, where a description has no picture of the link. */
function bone(to: THREE.Vector3): THREE.Object3D | undefined {
  const length = to.length()
  if (length < 0.005) return undefined
  const thick = Math.min(Math.max(length * 0.22, 0.008), 0.07)
  const b = new THREE.Mesh(new THREE.BoxGeometry(thick, thick, length), plain)
  b.position.copy(to).multiplyScalar(0.5)
  b.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), to.clone().normalize())
  return b
}
