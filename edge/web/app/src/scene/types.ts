// What /view/scene answers with.

/** x, y, z in metres and a quaternion x, y, z, w. */
export type Pose = [number, number, number, number, number, number, number]

export interface Frame {
  name: string
  parent: string
  pose: Pose
  /** Of its newest sample, ns; absent where it is fixed. */
  time?: string
  /** Of its position, in its axes: xx xy xz yy yz zz, m². */
  cov?: number[]
}

export interface Frames {
  fixed: string
  list: Frame[]
  missing?: { frame: string; why: string }[]
}

export interface Thing {
  key: string
  kind: 'robot' | 'scene' | 'scan' | 'points' | 'grid' | 'poses'
  id?: string
  version?: string
  frame?: string
  pose?: Pose
  name?: string
  cov?: number[]
  entities?: SceneEntity[]
  poses?: Pose[]
  start?: number
  end?: number
  ranges?: number[]
  columns?: number
  rows?: number
  cell?: [number, number]
}

export interface Scene {
  at: string
  tag: string
  frames?: Frames
  parts: Record<string, Thing[]>
  leftOut?: number
}

// foxglove.SceneEntity in the JSON form of protobuf: what is zero is left out.

export interface Vector {
  x?: number
  y?: number
  z?: number
}

export interface PoseMessage {
  position?: Vector
  orientation?: Vector & { w?: number }
}

export interface Colour {
  r?: number
  g?: number
  b?: number
  a?: number
}

interface Solid {
  pose?: PoseMessage
  size?: Vector
  color?: Colour
}

export interface SceneEntity {
  frameId?: string
  id?: string
  cubes?: Solid[]
  spheres?: Solid[]
  cylinders?: (Solid & { bottomScale?: number; topScale?: number })[]
  arrows?: { pose?: PoseMessage; shaftLength?: number; shaftDiameter?: number; headLength?: number; headDiameter?: number; color?: Colour }[]
  lines?: {
    type?: 'LINE_STRIP' | 'LINE_LOOP' | 'LINE_LIST'
    pose?: PoseMessage
    thickness?: number
    scaleInvariant?: boolean
    points?: Vector[]
    color?: Colour
    colors?: Colour[]
    indices?: number[]
  }[]
  triangles?: { pose?: PoseMessage; points?: Vector[]; color?: Colour; colors?: Colour[]; indices?: number[] }[]
  texts?: { pose?: PoseMessage; fontSize?: number; color?: Colour; text?: string }[]
  models?: { pose?: PoseMessage; scale?: Vector; color?: Colour; overrideColor?: boolean; url?: string }[]
}
