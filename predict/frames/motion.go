package frames

import (
	"math"
	"slices"
)

// Past is what a frame is predicted from.
type Past struct {
	frames     [3]Frame // the last, and those before
	background Frame    // what was there lately
	dx, dy     []float32
	near       Frame // the last one, smoothed over 3, 7 and 15 pixels
	middle     Frame
	wide       Frame
	change     Frame // how much pixels around changed lately
}

// NewPast returns the past of the last frame, from the two before it at the same distance in time, and what was there lately.
func NewPast(last, before, first, background Frame) *Past {
	p := &Past{frames: [3]Frame{last, before, first}, background: slices.Clone(background)}
	p.dx, p.dy = flow(last, before)
	p.near, p.middle, p.wide = smooth(last, 1), smooth(last, 3), smooth(last, 7)
	d := make(Frame, len(last))
	for i := range d {
		d[i] = float32(math.Abs(float64(last[i] - before[i])))
	}
	p.change = smooth(d, 3)
	return p
}

// smooth is the mean over a square of so many pixels to each Side.
func smooth(f Frame, r int) Frame {
	n := int(math.Sqrt(float64(len(f))))
	rows, out := make(Frame, len(f)), make(Frame, len(f))
	pass := func(in, out Frame, step, across int) {
		for line := range n {
			for i := range n {
				a, b := max(i-r, 0), min(i+r, n-1)
				s := float32(0)
				for k := a; k <= b; k++ {
					s += in[line*across+k*step]
				}
				out[line*across+i*step] = s / float32(b-a+1)
			}
		}
	}
	pass(f, rows, 1, n)
	pass(rows, out, n, 1)
	return out
}

// half is a frame at half the size.
func half(f Frame, n int) Frame {
	out := make(Frame, n*n/4)
	for y := range n / 2 {
		for x := range n / 2 {
			i := 2*y*n + 2*x
			out[y*n/2+x] = (f[i] + f[i+1] + f[i+n] + f[i+n+1]) / 4
		}
	}
	return out
}

// sample is a frame between its pixels; beyond its edges it goes on as there.
func sample(f Frame, n int, x, y float32) float32 {
	x, y = max(0, min(x, float32(n-1))), max(0, min(y, float32(n-1)))
	x0, y0 := min(int(x), n-2), min(int(y), n-2)
	u, v := x-float32(x0), y-float32(y0)
	i := y0*n + x0
	return (1-v)*((1-u)*f[i]+u*f[i+1]) + v*((1-u)*f[i+n]+u*f[i+n+1])
}

// flow is for each pixel of a frame where it was in the one before: by matching blocks, coarse to fine.
func flow(now, before Frame) (dx, dy []float32) {
	n := Side
	type level struct {
		a, b Frame
		n    int
	}
	levels := []level{{now, before, n}}
	for range 3 {
		l := levels[len(levels)-1]
		levels = append(levels, level{half(l.a, l.n), half(l.b, l.n), l.n / 2})
	}
	for k := len(levels) - 1; k >= 0; k-- {
		l := levels[k]
		ux, uy := make([]float32, l.n*l.n), make([]float32, l.n*l.n)
		reach := 1
		if dx == nil {
			reach = 3
		}
		for y := range l.n {
			for x := range l.n {
				cx, cy := float32(0), float32(0)
				if dx != nil {
					i := min(y/2, l.n/2-1)*l.n/2 + min(x/2, l.n/2-1)
					cx, cy = 2*dx[i], 2*dy[i]
				}
				best := cost(l.a, l.b, l.n, x, y, 0, 0, math.MaxFloat32) * 0.9 // what rests is preferred
				bx, by := float32(0), float32(0)
				for v := -reach; v <= reach; v++ {
					for u := -reach; u <= reach; u++ {
						tx, ty := cx+float32(u), cy+float32(v)
						if c := cost(l.a, l.b, l.n, x, y, tx, ty, best); c < best {
							best, bx, by = c, tx, ty
						}
					}
				}
				ux[y*l.n+x], uy[y*l.n+x] = bx, by
			}
		}
		dx, dy = smooth(ux, 1), smooth(uy, 1)
	}
	return dx, dy
}

// cost is how much a block differs from one in the other frame; from limit on it may be more.
func cost(a, b Frame, n, x, y int, dx, dy, limit float32) float32 {
	const r = 3
	s := float32(0)
	fx, fy := int(math.Floor(float64(dx))), int(math.Floor(float64(dy)))
	if x-r < 0 || y-r < 0 || x+r >= n || y+r >= n || x-r+fx < 0 || y-r+fy < 0 || x+r+fx+1 >= n || y+r+fy+1 >= n {
		for v := -r; v <= r; v++ {
			for u := -r; u <= r; u++ {
				px, py := max(0, min(x+u, n-1)), max(0, min(y+v, n-1))
				d := a[py*n+px] - sample(b, n, float32(px)+dx, float32(py)+dy)
				s += max(d, -d)
			}
			if s >= limit {
				return s
			}
		}
		return s
	}
	u, v := dx-float32(fx), dy-float32(fy)
	w00, w01, w10, w11 := (1-u)*(1-v), u*(1-v), (1-u)*v, u*v
	for row := -r; row <= r; row++ {
		here := a[(y+row)*n+x-r:][:2*r+1]
		i := (y+row+fy)*n + x - r + fx
		there, below := b[i:][:2*r+2], b[i+n:][:2*r+2]
		for k, p := range here {
			d := p - (w00*there[k] + w01*there[k+1] + w10*below[k] + w11*below[k+1])
			s += max(d, -d)
		}
		if s >= limit {
			return s
		}
	}
	return s
}

// advect moves the last frame on: each pixel goes so many times as far as it came. Where nothing comes to, the
// frame stays; where several come, what moves covers what rests.
func (p *Past) advect(times float32) Frame {
	n := Side
	sum, weight := make(Frame, n*n), make(Frame, n*n)
	for y := range n {
		for x := range n {
			i := y*n + x
			dx, dy := p.dx[i], p.dy[i]
			w := 0.02 + min(dx*dx+dy*dy, 4)
			tx, ty := float32(x)-times*dx, float32(y)-times*dy
			x0, y0 := int(math.Floor(float64(tx))), int(math.Floor(float64(ty)))
			for v := range 2 {
				for u := range 2 {
					px, py := x0+u, y0+v
					if px < 0 || py < 0 || px >= n || py >= n {
						continue
					}
					b := (1 - float32(math.Abs(float64(tx-float32(px))))) * (1 - float32(math.Abs(float64(ty-float32(py)))))
					sum[py*n+px] += w * b * p.frames[0][i]
					weight[py*n+px] += w * b
				}
			}
		}
	}
	for i := range sum {
		if weight[i] > 0.005 {
			sum[i] /= weight[i]
		} else {
			sum[i] = p.background[i]
		}
	}
	return sum
}
