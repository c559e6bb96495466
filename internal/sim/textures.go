package sim

import (
	"math"
	"sync"
)

// textures are the patterns of the room; they are made once.
type textures struct{ floor, wood, woodShade, wall texture }

var roomTextures = sync.OnceValue(func() *textures {
	x, y, z := vec3{X: 1}, vec3{Y: 1}, vec3{Z: 1}
	wood := func(brightness float64) *[textureSize * textureSize]colour {
		return makeTexels(func(s, t int) (colour, float64) {
			// Rings that wander along the board.
			ring := math.Sin(float64(t)*2*math.Pi/32 + 2.2*math.Sin(float64(s)*2*math.Pi/256) + 0.8*math.Sin(float64(s+2*t)*2*math.Pi/128))
			return colour{168, 118, 72}, brightness * (1 + 0.10*ring)
		})
	}
	return &textures{
		floor: texture{makeTexels(floorTexel), 128, x, y},
		wood:  texture{wood(1), 320, y, x}, woodShade: texture{wood(0.62), 320, y, x},
		wall: texture{makeTexels(wallTexel), 64, y, z},
	}
})

// makeTexels paints a texture with fine grain.
func makeTexels(at func(s, t int) (colour, float64)) *[textureSize * textureSize]colour {
	texels := new([textureSize * textureSize]colour)
	for i := range texels {
		c, brightness := at(i%textureSize, i/textureSize)
		grain := float64(mix(uint64(i))>>40)/(1<<24) - 0.5
		texels[i] = c.scale(brightness + 0.06*grain)
	}
	return texels
}

// floorTexel paints sixteen tiles with joints between them.
func floorTexel(s, t int) (colour, float64) {
	if s&63 < 2 || t&63 < 2 {
		return colour{90, 88, 84}, 1
	}
	tile := mix(uint64(s>>6<<2|t>>6) + 77)
	return colour{150, 147, 140}, 0.82 + 0.22*float64(tile>>48)/65536
}

// wallTexel paints a wallpaper with vertical stripes.
func wallTexel(s, _ int) (colour, float64) {
	return colour{206, 200, 184}, 1 + 0.035*math.Sin(float64(s)*2*math.Pi/32)
}
