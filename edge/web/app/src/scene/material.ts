// Materials that are kept: three.js compiles a program anew when the last material that uses it goes, and things come and
// go many times a second.
import * as THREE from 'three'
import { LineMaterial } from 'three/examples/jsm/lines/LineMaterial.js'

const kept = new Map<string, THREE.Material>()

/** So many are kept at most; those of more colours are as they come. */
const most = 500

function keep<M extends THREE.Material>(key: string, make: () => M): M {
  let m = kept.get(key) as M | undefined
  if (!m) {
    m = make()
    if (kept.size < most) {
      m.userData.kept = true
      kept.set(key, m)
    }
  }
  return m
}

export function points(color: THREE.Color | undefined, size: number): THREE.PointsMaterial {
  return keep(`points ${color?.getHex()} ${size}`, () => new THREE.PointsMaterial({ ...(color ? { color } : { vertexColors: true }), size, sizeAttenuation: false }))
}

export function solid(color: THREE.Color, alpha: number, colours: boolean): THREE.MeshLambertMaterial {
  return keep(
    `solid ${color.getHex()} ${alpha} ${colours}`,
    () => new THREE.MeshLambertMaterial({ color: colours ? 0xffffff : color, vertexColors: colours, side: THREE.DoubleSide, transparent: alpha < 1, opacity: alpha || 1 }),
  )
}

export function fat(color: THREE.Color, alpha: number, colours: boolean, linewidth: number, worldUnits: boolean): LineMaterial {
  return keep(
    `fat ${color.getHex()} ${alpha} ${colours} ${linewidth} ${worldUnits}`,
    () => new LineMaterial({ color: colours ? 0xffffff : color.getHex(), vertexColors: colours, linewidth, worldUnits, transparent: alpha < 1, opacity: alpha || 1 }),
  )
}

/** Throws away one that is not kept. */
export function drop(m: THREE.Material) {
  if (!m.userData.kept) m.dispose()
}
