package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/sim"
)

// pixels is an image of rgb8 without padding.
type pixels struct {
	width, height int
	data          []byte
}

// images measures the codecs of images on stereo pairs.
func images(ctx context.Context, c config) error {
	n := g1Frames(c)
	left, right, err := g1Stereo(c, n)
	if err != nil {
		return err
	}
	simLeft, simRight, err := simulated(n)
	if err != nil {
		return err
	}
	g1 := func(hz int) []*engram.Snapshot { return pairs(at(left, 30, hz), at(right, 30, hz), hz) }
	// As online shows them, and long enough for the first groups not to matter.
	seconds := 40
	if c.quick {
		seconds = 4
	}
	leftAt20, rightAt20 := at(left, 30, 20), at(right, 30, 20)
	long := func(shape func([]pixels) []pixels) func(int) []*engram.Snapshot {
		return func(hz int) []*engram.Snapshot {
			return pairs(turned(shape(leftAt20), 20/hz, seconds*hz), turned(shape(rightAt20), 20/hz, seconds*hz), hz)
		}
	}
	large, small := long(func(p []pixels) []pixels { return p }), long(shrunk)
	simulation := func(hz int) []*engram.Snapshot { return pairs(at(simLeft, 20, hz), at(simRight, 20, hz), hz) }

	t := newTable(c.out, "Stereo pairs on disk", "what|codec|MB/s|of raw|least dB|mean dB|cores|target")
	rates := map[string]float64{}
	for _, row := range []struct {
		name   string
		pairs  func(hz int) []*engram.Snapshot
		hz     int
		config codec.Config
		target string
	}{
		{"G1 640x480, 5 Hz", large, 5, codec.Config{Codec: codec.Video}, ""},
		{"G1 640x480, 20 Hz", large, 20, codec.Config{Codec: codec.Video}, ""},
		{"G1 128x128, 5 Hz", small, 5, codec.Config{Codec: codec.Video}, ""},
		{"G1 128x128, 20 Hz", small, 20, codec.Config{Codec: codec.Video}, ""},
		{"G1 640x480, 5 Hz, 45 dB", g1, 5, codec.Config{Codec: codec.Video, Quality: 45}, ""},
		{"G1 640x480, 5 Hz", g1, 5, codec.Config{Codec: codec.JPEG}, ""},
		{"G1 640x480, 20 Hz", g1, 20, codec.Config{Codec: codec.Image}, "≤ 0.35 of raw, ≤ 1 core"},
		{"simulated, 5 Hz", simulation, 5, codec.Config{Codec: codec.Video}, ""},
		{"simulated, 20 Hz", simulation, 20, codec.Config{Codec: codec.Video}, ""},
		{"simulated, 20 Hz", simulation, 20, codec.Config{Codec: codec.Image}, "≤ 0.35 of raw, ≤ 1 core"},
	} {
		snapshots := row.pairs(row.hz)
		r, err := rate(row.config, snapshots, row.hz)
		if err != nil {
			return err
		}
		rates[row.name+row.config.Codec] = r.perSecond
		t.row("%s|%s|%.4f|%.4f|%s|%s|%.2f|%s", row.name, row.config.Codec, r.perSecond/1e6, r.share, decibel(r.least), decibel(r.mean), r.cores, row.target)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, size := range []string{"640x480", "128x128"} {
		five, twenty := rates["G1 "+size+", 5 Hz"+codec.Video], rates["G1 "+size+", 20 Hz"+codec.Video]
		c.report.note("images alone, G1 frames as a stereo pair at "+size+": 5 Hz, 20 Hz, ratio",
			fmt.Sprintf("%s, %s, %s", quantity(five/1e6, " MB/s"), quantity(twenty/1e6, " MB/s"), quantity(twenty/five, " ×")))
	}
	if err := pngShare(c.out, g1(5)); err != nil {
		return err
	}
	one := make([]*engram.Snapshot, 0, n)
	for i, p := range at(left, 30, 30) {
		one = append(one, snapshot(i, 30, p))
	}
	return latency(c, one)
}

func decibel(db float64) string {
	if math.IsInf(db, 1) {
		return "exact"
	}
	return fmt.Sprintf("%.2f", db)
}

// frames reads the first n images of the real robot's camera.
func frames(path string, n int) ([]pixels, error) {
	r, err := recording.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []pixels
	for len(out) < n {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if m.Channel.Topic != "/camera/color/image_raw/compressed" {
			continue
		}
		file := m.Data[bytes.Index(m.Data, []byte{0xff, 0xd8, 0xff}):]
		img, err := jpeg.Decode(bytes.NewReader(file))
		if err != nil {
			return nil, err
		}
		ycc, ok := img.(*image.YCbCr)
		if !ok {
			return nil, fmt.Errorf("%s holds a %T", path, img)
		}
		b := img.Bounds()
		p := pixels{b.Dx(), b.Dy(), make([]byte, 0, b.Dx()*b.Dy()*3)}
		for y := range b.Dy() {
			for x := range b.Dx() {
				r, g, b, _ := ycc.YCbCrAt(x, y).RGBA()
				p.data = append(p.data, byte(r>>8), byte(g>>8), byte(b>>8))
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// simulated renders n pairs of the simulated robot's eyes, 20 Hz.
func simulated(n int) (left, right []pixels, err error) {
	robot, err := sim.New(sim.Config{Start: begin, Seed: 1})
	if err != nil {
		return nil, nil, err
	}
	for tick := 0; len(left) < n; tick++ {
		for _, u := range robot.Images(tick).Updates {
			for i, in := range u.Instances {
				var m foxglove.RawImage
				if err := proto.Unmarshal(in.Payload.Bytes, &m); err != nil {
					return nil, nil, err
				}
				p := pixels{int(m.Width), int(m.Height), m.Data}
				if i == 0 {
					left = append(left, p)
				} else {
					right = append(right, p)
				}
			}
		}
	}
	return left, right, nil
}

// at picks frames of one rate at another.
func at(p []pixels, have, want int) (out []pixels) {
	for i := 0; i*have/want < len(p); i++ {
		out = append(out, p[i*have/want])
	}
	return out
}

// turned picks n frames, each step-th, forwards and backwards in turn.
func turned(p []pixels, step, n int) []pixels {
	out := make([]pixels, n)
	for i := range out {
		out[i] = p[turning(i*step, len(p))]
	}
	return out
}

// shrunk returns the middle squares at 128 x 128, each pixel the mean of what it covers.
func shrunk(in []pixels) (out []pixels) {
	const side = 128
	for _, p := range in {
		left := (p.width - p.height) / 2
		q := pixels{side, side, make([]byte, 0, side*side*3)}
		for y := range side {
			for x := range side {
				y0, y1 := y*p.height/side, (y+1)*p.height/side
				x0, x1 := left+x*p.height/side, left+(x+1)*p.height/side
				for c := range 3 {
					sum, n := 0, 0
					for yy := y0; yy < y1; yy++ {
						for xx := x0; xx < x1; xx++ {
							sum += int(p.data[(yy*p.width+xx)*3+c])
							n++
						}
					}
					q.data = append(q.data, byte((sum+n/2)/n))
				}
			}
		}
		out = append(out, q)
	}
	return out
}

const begin engram.Time = 1_767_225_600_000_000_000

func snapshot(i, hz int, views ...pixels) *engram.Snapshot {
	t := begin + engram.Time(i)*engram.Time(time.Second)/engram.Time(hz)
	s := &engram.Snapshot{Time: t, Arrived: t, Number: uint64(i + 1)}
	for _, v := range views {
		s.Instances = append(s.Instances, engram.NewInstance(v.payload(t)))
	}
	return s
}

func pairs(left, right []pixels, hz int) (out []*engram.Snapshot) {
	for i := range min(len(left), len(right)) {
		out = append(out, snapshot(i, hz, left[i], right[i]))
	}
	return out
}

// rated is what a codec makes of a stream.
type rated struct {
	perSecond, share float64 // bytes, and of the raw ones
	least, mean      float64 // PSNR of luma in dB, of each image by itself
	cores            float64 // CPU time of encoding over the time it stands for, ffmpeg's too
}

func rate(c codec.Config, snapshots []*engram.Snapshot, hz int) (r rated, err error) {
	before := cpuTime()
	messages, err := encode(c, snapshots)
	if err != nil {
		return r, err
	}
	seconds := float64(len(snapshots)) / float64(hz)
	r.cores = (cpuTime() - before).Seconds() / seconds
	var stored, raw int
	for _, m := range messages {
		stored += len(m.Bytes)
	}
	d, err := codec.NewDecoder(c)
	if err != nil {
		return r, err
	}
	defer d.Close()
	r.least = math.Inf(1)
	i, n := 0, 0
	for _, m := range messages {
		back, err := d.Decode(context.Background(), m, nil)
		if err != nil {
			return r, err
		}
		for _, s := range back {
			for k := range s.Instances {
				db, err := psnr(s.Instances[k].Payload.Bytes, snapshots[i].Instances[k].Payload.Bytes)
				if err != nil {
					return r, err
				}
				r.least, r.mean, n = min(r.least, db), r.mean+db, n+1
			}
			raw += snapshots[i].Size()
			i++
		}
	}
	if i != len(snapshots) {
		return r, fmt.Errorf("%s gave back %d of %d snapshots", c.Codec, i, len(snapshots))
	}
	r.perSecond, r.share, r.mean = float64(stored)/seconds, float64(stored)/float64(raw), r.mean/float64(n)
	return r, nil
}

func encode(c codec.Config, snapshots []*engram.Snapshot) (messages []codec.Message, err error) {
	e, _, err := codec.NewEncoder(c)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	ctx := context.Background()
	emit := func(m codec.Message) error { messages = append(messages, m); return nil }
	for _, s := range snapshots {
		if err := e.Encode(ctx, s, emit); err != nil {
			return nil, err
		}
	}
	if err := e.Flush(ctx, emit); err != nil {
		return nil, err
	}
	if f, ok := e.(codec.FaultCounter); ok {
		if n, err := f.Faults(); n > 0 {
			fmt.Printf("%d faults, the last: %v\n", n, err)
		}
	}
	return messages, nil
}

// cpuTime is what this process and its children that have ended took.
func cpuTime() (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// psnr compares the luma of two raw images of rgb8, computed here from the pixels
// that a reader gets.
func psnr(a, b []byte) (float64, error) {
	if bytes.Equal(a, b) {
		return math.Inf(1), nil
	}
	var p, q foxglove.RawImage
	if err := errors.Join(proto.Unmarshal(a, &p), proto.Unmarshal(b, &q)); err != nil {
		return 0, err
	}
	if len(p.Data) != len(q.Data) || p.Step != q.Step || p.Encoding != "rgb8" {
		return 0, errors.New("the image came back as another one")
	}
	luma := func(p []byte) float64 { return 0.299*float64(p[0]) + 0.587*float64(p[1]) + 0.114*float64(p[2]) }
	sum := 0.0
	for i := 0; i < len(p.Data); i += 3 {
		d := luma(p.Data[i:]) - luma(q.Data[i:])
		sum += d * d
	}
	return 10 * math.Log10(255*255*float64(len(p.Data)/3)/sum), nil
}

// pngShare compares what exact video takes with PNG.
func pngShare(w io.Writer, snapshots []*engram.Snapshot) error {
	snapshots = snapshots[:min(len(snapshots), 10)]
	messages, err := encode(codec.Config{Codec: codec.Image}, snapshots)
	if err != nil {
		return err
	}
	exact, asPNG := 0, 0
	for _, m := range messages {
		exact += len(m.Bytes)
	}
	for _, s := range snapshots {
		for i := range s.Instances {
			n, err := pngBytes(s.Instances[i].Payload.Bytes)
			if err != nil {
				return err
			}
			asPNG += n
		}
	}
	fmt.Fprintf(w, "G1 640x480, exact: %.2f of PNG's bytes (anchor: 0.30–0.45)\n", float64(exact)/float64(asPNG))
	return nil
}

func pngBytes(payload []byte) (int, error) {
	var m foxglove.RawImage
	if err := proto.Unmarshal(payload, &m); err != nil {
		return 0, err
	}
	img := image.NewRGBA(image.Rect(0, 0, int(m.Width), int(m.Height)))
	for i := range int(m.Width * m.Height) {
		copy(img.Pix[4*i:], m.Data[3*i:3*i+3])
		img.Pix[4*i+3] = 255
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Len(), err
}

// latency measures how long one frame of a video takes to read.
func latency(c config, snapshots []*engram.Snapshot) error {
	config := codec.Config{Codec: codec.Video}
	messages, err := encode(config, snapshots)
	if err != nil {
		return err
	}
	cold := func(i int) (time.Duration, error) {
		first := i
		for !messages[first].Key {
			first--
		}
		start := time.Now()
		d, err := codec.NewDecoder(config)
		if err != nil {
			return 0, err
		}
		defer d.Close()
		for k := first; k <= i; k++ {
			if _, err := d.Decode(context.Background(), messages[k], []bool{k == i}); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
	random := rand.New(rand.NewPCG(1, 1))
	var any, last, next []time.Duration
	for range 21 {
		t, err := cold(random.IntN(len(messages)))
		if err != nil {
			return err
		}
		any = append(any, t)
		if t, err = cold(24); err != nil {
			return err
		}
		last = append(last, t)
	}
	d, err := codec.NewDecoder(config)
	if err != nil {
		return err
	}
	defer d.Close()
	for i, m := range messages {
		start := time.Now()
		if _, err := d.Decode(context.Background(), m, nil); err != nil {
			return err
		}
		if i > 0 {
			next = append(next, time.Since(start))
		}
	}
	t := newTable(c.out, "One frame of video, 640x480", "what|p50|p90|target")
	for _, row := range []struct {
		name   string
		times  []time.Duration
		target string
	}{
		{"cold, anywhere", any, "≤ 120 ms"}, {"cold, the last of 25", last, "≤ 120 ms"}, {"the next ones in order", next, "≤ 15 ms"},
	} {
		slices.Sort(row.times)
		t.row("%s|%v|%v|%s", row.name, quantile(row.times, 0.5), quantile(row.times, 0.9), row.target)
	}
	// The median, as for everything else; the slowest case of a cold frame.
	c.report.atMost("one video frame, 640x480, cold: the last of its group", 120, milliseconds(last), " ms")
	c.report.note("… anywhere", quantity(milliseconds(any), " ms"))
	c.report.atMost("… the next ones in order", 15, milliseconds(next), " ms")
	return t.Flush()
}

// milliseconds returns the median of sorted times.
func milliseconds(sorted []time.Duration) float64 {
	return float64(quantile(sorted, 0.5)) / float64(time.Millisecond)
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))].Round(10 * time.Microsecond)
}
