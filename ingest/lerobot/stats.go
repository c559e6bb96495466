package lerobot

import "math"

// stats are the statistics of all features of some frames: of the vectors, the five columns of indices,
// the images.
type stats struct{ features []*featureStats }

// indexColumns are the columns that every data set has, after its vectors.
var indexColumns = []string{"timestamp", "frame_index", "episode_index", "index", "task_index"}

// featureStats are those of one feature, by element or, of images, by colour.
type featureStats struct {
	name                string
	image               bool
	frames              float64
	n                   float64 // values of each element
	min, max, mean, dev []float64
}

func newStats(c *Config) *stats {
	s := &stats{}
	add := func(name string, elements int, image bool) {
		f := &featureStats{name: name, image: image, min: make([]float64, elements), max: make([]float64, elements), mean: make([]float64, elements), dev: make([]float64, elements)}
		for i := range elements {
			f.min[i], f.max[i] = math.Inf(1), math.Inf(-1)
		}
		s.features = append(s.features, f)
	}
	for _, v := range c.Vectors {
		add(v.Name, len(v.Elements), false)
	}
	for _, name := range indexColumns {
		add(name, 1, false)
	}
	for _, i := range c.Images {
		add(i.Name, 3, true)
	}
	return s
}

// add takes a frame's values into account, by Welford's method.
func (s *stats) add(feature int, values []float64) {
	f := s.features[feature]
	f.frames++
	f.n++
	for i, x := range values {
		f.min[i], f.max[i] = min(f.min[i], x), max(f.max[i], x)
		d := x - f.mean[i]
		f.mean[i] += d / f.n
		f.dev[i] += d * (x - f.mean[i])
	}
}

// sampledSide is how many pixels of a row, and how many rows, are looked at about.
const sampledSide = 150

// addImage takes pixels into account, from 0 to 1; of large images some in regular distances.
func (s *stats) addImage(feature int, pixels []byte, width int) {
	height := len(pixels) / 3 / width
	dx, dy := max(1, width/sampledSide), max(1, height/sampledSide)
	one := featureStats{min: []float64{1, 1, 1}, max: make([]float64, 3), mean: make([]float64, 3), dev: make([]float64, 3), frames: 1}
	var sum, squares [3]float64
	for y := 0; y < height; y += dy {
		for x := 0; x < width; x += dx {
			at := 3 * (y*width + x)
			for c := range 3 {
				v := float64(pixels[at+c]) / 255
				one.min[c], one.max[c] = min(one.min[c], v), max(one.max[c], v)
				sum[c] += v
				squares[c] += v * v
			}
			one.n++
		}
	}
	for c := range 3 {
		one.mean[c] = sum[c] / one.n
		one.dev[c] = max(0, squares[c]-sum[c]*one.mean[c])
	}
	s.features[feature].merge(&one)
}

func (s *stats) merge(o *stats) {
	for i, f := range s.features {
		f.merge(o.features[i])
	}
}

func (f *featureStats) merge(o *featureStats) {
	if o.n == 0 {
		return
	}
	n := f.n + o.n
	for i := range f.mean {
		f.min[i], f.max[i] = min(f.min[i], o.min[i]), max(f.max[i], o.max[i])
		d := o.mean[i] - f.mean[i]
		f.mean[i] += d * o.n / n
		f.dev[i] += o.dev[i] + d*d*f.n*o.n/n
	}
	f.n, f.frames = n, f.frames+o.frames
}

// statNames are in the order of values.
var statNames = []string{"min", "max", "mean", "std"}

// values returns the statistics by name; std is of the population, as numpy has it.
func (f *featureStats) values() [][]float64 {
	std := make([]float64, len(f.dev))
	for i, d := range f.dev {
		std[i] = math.Sqrt(d / f.n)
	}
	return [][]float64{f.min, f.max, f.mean, std}
}

// row returns the statistics as values of the columns of an episode, and the number of frames. Those of
// images have the shape (3, 1, 1).
func (f *featureStats) row() (row []any) {
	for _, v := range f.values() {
		row = append(row, f.shaped(v))
	}
	return append(row, []any{int64(f.frames)})
}

func (f *featureStats) shaped(v []float64) any {
	if !f.image {
		return v
	}
	deep := make([]any, len(v))
	for i, x := range v {
		deep[i] = []any{[]any{x}}
	}
	return deep
}
