package marker_test

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"

	"github.com/seed-301d4374/engram/examples/localiser/marker"
)

// clutter paints what is no marker: 640 × 480, the same for the same seed.
func clutter(seed uint64, foreign []*marker.Family) *image.Gray {
	c := &painter{Rand: rand.New(rand.NewPCG(seed, 7)), img: image.NewGray(image.Rect(0, 0, 640, 480))}
	c.gradient()
	for range 10 + c.IntN(20) {
		switch c.IntN(6) {
		case 0:
			c.rectangle()
		case 1:
			c.checkerboard()
		case 2:
			c.text()
		case 3:
			c.almost(foreign)
		case 4:
			c.nested()
		case 5:
			c.disc()
		}
	}
	c.blur()
	c.noise(c.Float64() * 12)
	return c.img
}

type painter struct {
	*rand.Rand
	img *image.Gray
}

func (c *painter) level() color.Gray { return color.Gray{Y: uint8(c.IntN(256))} }

func (c *painter) gradient() {
	a, dx, dy := 60+120*c.Float64(), 0.3*(c.Float64()-0.5), 0.3*(c.Float64()-0.5)
	for y := range 480 {
		for x := range 640 {
			c.img.Pix[y*c.img.Stride+x] = uint8(min(max(a+dx*float64(x)+dy*float64(y), 0), 255))
		}
	}
}

// place returns a rectangle of at most that size, wholly or partly in the image.
func (c *painter) place(most int) image.Rectangle {
	x, y := c.IntN(660)-20, c.IntN(500)-20
	return image.Rect(x, y, x+10+c.IntN(most), y+10+c.IntN(most))
}

func (c *painter) fill(r image.Rectangle, level color.Gray) {
	draw.Draw(c.img, r, image.NewUniform(level), image.Point{}, draw.Src)
}

func (c *painter) rectangle() { c.fill(c.place(200), c.level()) }

// grid paints n × n cells within a rotated square and what is white returns of them.
func (c *painter) grid(n int, cell float64, dark, light uint8, white func(row, column int) bool) {
	angle, squeeze := 2*math.Pi*c.Float64(), 0.5+0.5*c.Float64()
	cx, cy := 640*c.Float64(), 480*c.Float64()
	sin, cos := math.Sincos(angle)
	reach := int(cell * float64(n))
	for y := max(int(cy)-reach, 0); y < min(int(cy)+reach, 480); y++ {
		for x := max(int(cx)-reach, 0); x < min(int(cx)+reach, 640); x++ {
			dx, dy := float64(x)-cx, float64(y)-cy
			column := math.Floor((cos*dx+sin*dy)/cell + float64(n)/2)
			row := math.Floor((cos*dy-sin*dx)/(cell*squeeze) + float64(n)/2)
			if column < 0 || row < 0 || column >= float64(n) || row >= float64(n) {
				continue
			}
			level := dark
			if white(int(row), int(column)) {
				level = light
			}
			c.img.Pix[y*c.img.Stride+x] = level
		}
	}
}

func (c *painter) checkerboard() {
	c.grid(4+c.IntN(8), 4+20*c.Float64(), uint8(c.IntN(90)), uint8(160+c.IntN(90)), func(row, column int) bool { return (row+column)%2 == 0 })
}

// text paints rows of small dark strokes on a light ground.
func (c *painter) text() {
	page := c.place(250)
	c.fill(page, color.Gray{Y: uint8(180 + c.IntN(75))})
	height := 6 + c.IntN(16)
	for y := page.Min.Y + 3; y < page.Max.Y-height; y += 2 * height {
		for x := page.Min.X + 3; x < page.Max.X-height; x += height/2 + 2 + c.IntN(4) {
			for range 3 {
				w, h := 1+height/5, 1+c.IntN(height)
				if c.IntN(2) == 0 {
					w, h = h, w
				}
				at := image.Pt(x+c.IntN(height/2+1), y+c.IntN(height/2+1))
				c.fill(image.Rectangle{at, at.Add(image.Pt(w, h))}, color.Gray{Y: uint8(c.IntN(60))})
			}
		}
	}
}

// almost paints a black border on white with cells that are of no family looked for:
// another family's, or random ones.
func (c *painter) almost(foreign []*marker.Family) {
	dark, light := uint8(c.IntN(60)), uint8(170+c.IntN(80))
	cell := 3 + 10*c.Float64()
	if len(foreign) > 0 && c.IntN(2) == 0 {
		f := foreign[c.IntN(len(foreign))]
		cells, _ := marker.Draw(f, c.IntN(len(f.Codes)))
		c.grid(len(cells), cell, dark, light, func(row, column int) bool { return cells[row][column] })
		return
	}
	// A size that no family has: random cells of 6 × 6 are a marker now and then.
	n := 7 + 4
	noise := c.Uint64()
	c.grid(n, cell, dark, light, func(row, column int) bool {
		margin := row == 0 || column == 0 || row == n-1 || column == n-1
		inside := row >= 2 && column >= 2 && row < n-2 && column < n-2
		return margin || inside && noise>>((row*7+column)%64)&1 == 1
	})
}

// nested paints squares within squares.
func (c *painter) nested() {
	n := 6 + c.IntN(6)
	c.grid(n, 3+8*c.Float64(), uint8(c.IntN(80)), uint8(150+c.IntN(100)), func(row, column int) bool {
		return min(row, column, n-1-row, n-1-column)%2 == 0
	})
}

func (c *painter) disc() {
	r, level := c.place(120), c.level()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			dx := 2*float64(x-r.Min.X)/float64(r.Dx()) - 1
			dy := 2*float64(y-r.Min.Y)/float64(r.Dy()) - 1
			if dx*dx+dy*dy < 1 && image.Pt(x, y).In(c.img.Rect) {
				c.img.SetGray(x, y, level)
			}
		}
	}
}

// blur takes the mean of 2 × 2 pixels.
func (c *painter) blur() {
	pix, stride := c.img.Pix, c.img.Stride
	for i := 0; i+stride+1 < len(pix); i++ {
		pix[i] = uint8((int(pix[i]) + int(pix[i+1]) + int(pix[i+stride]) + int(pix[i+stride+1])) / 4)
	}
}

func (c *painter) noise(sigma float64) {
	for i, p := range c.img.Pix {
		c.img.Pix[i] = uint8(min(max(float64(p)+sigma*c.NormFloat64(), 0), 255))
	}
}
