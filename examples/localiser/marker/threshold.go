package marker

import "image"

// tile is the side in pixels of the squares whose darkest and brightest pixels are taken
// together. Three by three of them decide what is dark.
const tile = 4

// binary is an image of dark and light pixels, with one light pixel around it.
type binary struct {
	width, height, stride int
	pix                   []uint8 // light or dark, or traced
	low, high             []uint8 // of each tile
	across                int     // tiles in a row
}

const (
	light = iota
	dark
	traced // dark, and an outline went along it
)

// at returns the index of a pixel.
func (b *binary) at(x, y int) int { return (y+1)*b.stride + x + 1 }

// threshold finds the dark pixels of an image: those below the middle between the darkest
// and the brightest nearby, where these differ by at least contrast levels. The image is at
// least a tile wide.
func (b *binary) threshold(img *image.Gray, contrast int) {
	b.resize(img.Rect.Dx(), img.Rect.Dy())
	for ty := 0; ty*tile < b.height; ty++ {
		b.extremes(img, ty)
	}
	for ty := 0; ty*tile < b.height; ty++ {
		for tx := range b.across {
			b.fill(img, tx, ty, b.middle(tx, ty, contrast))
		}
	}
}

func (b *binary) resize(width, height int) {
	if b.width == width && b.height == height {
		return
	}
	b.width, b.height, b.stride = width, height, width+2
	b.pix = make([]uint8, b.stride*(height+2))
	b.across = (width + tile - 1) / tile
	tiles := b.across * ((height + tile - 1) / tile)
	b.low, b.high = make([]uint8, tiles), make([]uint8, tiles)
}

// extremes finds the darkest and the brightest pixel of each tile in a row of tiles.
func (b *binary) extremes(img *image.Gray, ty int) {
	low, high := b.low[ty*b.across:][:b.across], b.high[ty*b.across:][:b.across]
	for tx := range low {
		low[tx], high[tx] = 255, 0
	}
	for y := ty * tile; y < min((ty+1)*tile, b.height); y++ {
		row := img.Pix[y*img.Stride:][:b.width]
		for tx := range low {
			p := row[min(tx*tile, b.width-tile):][:tile] // the last tile may share pixels
			low[tx] = min(low[tx], p[0], p[1], p[2], p[3])
			high[tx] = max(high[tx], p[0], p[1], p[2], p[3])
		}
	}
}

// middle returns the level below which pixels of a tile are dark, 0 where there is too
// little contrast.
func (b *binary) middle(tx, ty, contrast int) uint8 {
	lo, hi := uint8(255), uint8(0)
	for y := max(ty-1, 0); y <= ty+1 && y*b.across < len(b.low); y++ {
		for x := max(tx-1, 0); x <= min(tx+1, b.across-1); x++ {
			lo, hi = min(lo, b.low[y*b.across+x]), max(hi, b.high[y*b.across+x])
		}
	}
	if int(hi)-int(lo) < contrast {
		return 0
	}
	return lo + (hi-lo)/2
}

func (b *binary) fill(img *image.Gray, tx, ty int, below uint8) {
	x0, x1 := tx*tile, min((tx+1)*tile, b.width)
	for y := ty * tile; y < min((ty+1)*tile, b.height); y++ {
		out := b.pix[b.at(x0, y):b.at(x1, y)]
		for i, p := range img.Pix[y*img.Stride+x0 : y*img.Stride+x1] {
			out[i] = light
			if p < below {
				out[i] = dark
			}
		}
	}
}
