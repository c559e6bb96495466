package sim

// colour is red, green and blue.
type colour [3]uint8

// scale returns the colour at a brightness; beyond full it saturates.
func (c colour) scale(s float64) colour {
	for i, v := range c {
		c[i] = uint8(min(float64(v)*s+0.5, 255))
	}
	return c
}
