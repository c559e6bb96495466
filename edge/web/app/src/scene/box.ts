// Boxes, of which there may be ten thousand. Only the faces that the camera sees are drawn, at most three, each of one
// shade. An instance is a row of 64 boxes, which are in a texture: to draw an instance takes a computer without a
// graphics processor far longer than the few corners of one box.
import * as THREE from 'three'

/** From where the light comes. */
export const sun = new THREE.Vector3(3, -4, 8).normalize()

const row = 64

/** The faces towards x, y and z of a row of cubes of size 1; the shader turns those that look away to the other side. */
function faces(): THREE.InstancedBufferGeometry {
  const position: number[] = []
  const place: number[] = []
  const index: number[] = []
  for (let box = 0; box < row; box++) {
    for (let axis = 0; axis < 3; axis++) {
      index.push(...[0, 1, 2, 0, 2, 3].map((n) => position.length / 3 + n))
      for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, 1]] as const) {
        const p = [0, 0, 0]
        p[axis] = 0.5
        p[(axis + 1) % 3] = u / 2
        p[(axis + 2) % 3] = v / 2
        position.push(...p)
        place.push(axis, box)
      }
    }
  }
  const g = new THREE.InstancedBufferGeometry()
  g.setAttribute('position', new THREE.Float32BufferAttribute(position, 3))
  g.setAttribute('place', new THREE.Float32BufferAttribute(place, 2))
  g.setIndex(index)
  return g
}

const vertexShader = `
  attribute vec2 place;
  uniform highp sampler2D boxes;
  uniform vec3 sun;
  varying vec4 shade;
  void main() {
    ivec2 at = ivec2(4 * int(place.y), gl_InstanceID);
    vec4 x = texelFetch(boxes, at, 0), y = texelFetch(boxes, at + ivec2(1, 0), 0), z = texelFetch(boxes, at + ivec2(2, 0), 0);
    mat4 m = modelViewMatrix * mat4(x.x, y.x, z.x, 0.0, x.y, y.y, z.y, 0.0, x.z, y.z, z.z, 0.0, x.w, y.w, z.w, 1.0);
    vec3 to = vec3(place.x < 0.5, place.x > 0.5 && place.x < 1.5, place.x > 1.5);
    vec3 normal = (m * vec4(to, 0.0)).xyz;
    // Where the camera is along this axis, from the middle of the box.
    float camera = -dot(normal, m[3].xyz) / max(dot(normal, normal), 1e-20);
    float side = sign(camera);
    vec3 p = position * (1.0 + (side - 1.0) * (to + to.zxy));
    normal = side * normalize((vec4(normal, 0.0) * viewMatrix).xyz);
    shade = texelFetch(boxes, at + ivec2(3, 0), 0);
    shade.rgb *= 0.42 + 0.12 * normal.z + 0.57 * max(dot(normal, sun), 0.0);
    gl_Position = abs(camera) < 0.5 ? vec4(2.0, 2.0, 2.0, 1.0) : projectionMatrix * (m * vec4(p, 1.0));
  }`

const fragmentShader = `
  varying vec4 shade;
  void main() {
    gl_FragColor = shade;
    #include <colorspace_fragment>
  }`

/** Boxes in one frame, drawn by one call. */
export class Boxes extends THREE.Mesh<THREE.InstancedBufferGeometry, THREE.ShaderMaterial> {
  #texels: Float32Array
  #texture: THREE.DataTexture
  #count = 0

  constructor(
    readonly room: number,
    clear: boolean,
  ) {
    const rows = Math.ceil(room / row)
    const texels = new Float32Array(rows * row * 16)
    const texture = new THREE.DataTexture(texels, row * 4, rows, THREE.RGBAFormat, THREE.FloatType)
    super(faces(), new THREE.ShaderMaterial({ transparent: clear, depthWrite: !clear, uniforms: { boxes: { value: texture }, sun: { value: sun } }, vertexShader, fragmentShader }))
    this.#texels = texels
    this.#texture = texture
    this.frustumCulled = false
  }

  set(i: number, m: THREE.Matrix4, colour: THREE.Color, alpha: number) {
    const e = m.elements
    this.#texels.set([e[0], e[4], e[8], e[12], e[1], e[5], e[9], e[13], e[2], e[6], e[10], e[14], colour.r, colour.g, colour.b, alpha], 16 * i)
  }

  /** Has so many of those that were set drawn. */
  show(count: number) {
    this.#texels.fill(0, 16 * count, 16 * Math.max(count, this.#count))
    this.#count = count
    this.geometry.instanceCount = Math.ceil(count / row)
    this.#texture.needsUpdate = true
  }

  /** Meets the boxes themselves, from outside. */
  override raycast(caster: THREE.Raycaster, hits: THREE.Intersection[]) {
    const cube = new THREE.Box3(new THREE.Vector3(-0.5, -0.5, -0.5), new THREE.Vector3(0.5, 0.5, 0.5))
    const m = new THREE.Matrix4()
    const inverse = new THREE.Matrix4()
    const ray = new THREE.Ray()
    const at = new THREE.Vector3()
    for (let i = 0; i < this.#count; i++) {
      m.fromArray([...this.#texels.subarray(16 * i, 16 * i + 12), 0, 0, 0, 1]).transpose().premultiply(this.matrixWorld)
      ray.copy(caster.ray).applyMatrix4(inverse.copy(m).invert())
      if (cube.containsPoint(ray.origin) || !ray.intersectBox(cube, at)) continue
      const point = at.clone().applyMatrix4(m)
      const distance = caster.ray.origin.distanceTo(point)
      if (distance >= caster.near && distance <= caster.far) hits.push({ distance, point, object: this, instanceId: i })
    }
  }

  override dispose() {
    this.geometry.dispose()
    this.material.dispose()
    this.#texture.dispose()
  }
}
