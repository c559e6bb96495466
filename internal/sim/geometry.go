package sim

import "math"

// vec3 is a point or direction.
type vec3 struct{ x, y, z float64 }

func (a vec3) add(b vec3) vec3    { return vec3{a.x + b.x, a.y + b.y, a.z + b.z} }
func (a vec3) sub(b vec3) vec3    { return vec3{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec3) mul(s float64) vec3 { return vec3{a.x * s, a.y * s, a.z * s} }
func (a vec3) dot(b vec3) float64 { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vec3) norm() float64      { return math.Sqrt(a.dot(a)) }
func (a vec3) cross(b vec3) vec3 {
	return vec3{a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x}
}
func (a vec3) unit() vec3              { return a.mul(1 / a.norm()) }
func (a vec3) distance(b vec3) float64 { return a.sub(b).norm() }

// mat3 is a rotation matrix by rows.
type mat3 [3]vec3

var identity = mat3{{x: 1}, {y: 1}, {z: 1}}

func (m mat3) apply(v vec3) vec3 { return vec3{m[0].dot(v), m[1].dot(v), m[2].dot(v)} }

func (m mat3) transpose() mat3 {
	return mat3{
		{m[0].x, m[1].x, m[2].x},
		{m[0].y, m[1].y, m[2].y},
		{m[0].z, m[1].z, m[2].z},
	}
}

func (m mat3) compose(o mat3) mat3 {
	t := o.transpose()
	var r mat3
	for i := range r {
		r[i] = t.apply(m[i])
	}
	return r
}

// rotation returns the rotation by angle (rad) about a unit axis.
func rotation(axis vec3, angle float64) mat3 {
	s, c := math.Sincos(angle)
	k := axis.mul(1 - c)
	return mat3{
		{c + k.x*axis.x, k.x*axis.y - s*axis.z, k.x*axis.z + s*axis.y},
		{k.y*axis.x + s*axis.z, c + k.y*axis.y, k.y*axis.z - s*axis.x},
		{k.z*axis.x - s*axis.y, k.z*axis.y + s*axis.x, c + k.z*axis.z},
	}
}

// pose maps points of a child frame into its parent frame.
type pose struct {
	r mat3
	t vec3
}

func (p pose) apply(v vec3) vec3       { return p.r.apply(v).add(p.t) }
func (p pose) compose(o pose) pose     { return pose{p.r.compose(o.r), p.apply(o.t)} }
func (p pose) inverse() pose           { r := p.r.transpose(); return pose{r, r.apply(p.t).mul(-1)} }
func translation(x, y, z float64) pose { return pose{identity, vec3{x, y, z}} }

// quaternion is a unit quaternion.
type quaternion struct{ x, y, z, w float64 }

// quaternion returns the rotation as a quaternion with w >= 0.
func (m mat3) quaternion() quaternion {
	// The largest of the four squares is at least 1/4, so dividing by it is safe.
	ww, xx := 1+m[0].x+m[1].y+m[2].z, 1+m[0].x-m[1].y-m[2].z
	yy, zz := 1-m[0].x+m[1].y-m[2].z, 1-m[0].x-m[1].y+m[2].z
	wx, wy, wz := m[2].y-m[1].z, m[0].z-m[2].x, m[1].x-m[0].y
	xy, xz, yz := m[0].y+m[1].x, m[0].z+m[2].x, m[1].z+m[2].y
	var q quaternion
	switch max(ww, xx, yy, zz) {
	case ww:
		q = quaternion{wx, wy, wz, ww}
	case xx:
		q = quaternion{xx, xy, xz, wx}
	case yy:
		q = quaternion{xy, yy, yz, wy}
	default:
		q = quaternion{xz, yz, zz, wz}
	}
	n := 1 / math.Sqrt(q.x*q.x+q.y*q.y+q.z*q.z+q.w*q.w)
	if q.w < 0 {
		n = -n
	}
	return quaternion{q.x * n, q.y * n, q.z * n, q.w * n}
}

// ramp rises smoothly from 0 to 1 while t goes from start to end.
func ramp(t, start, end float64) float64 {
	s := min(max((t-start)/(end-start), 0), 1)
	return s * s * s * (s*(6*s-15) + 10)
}
