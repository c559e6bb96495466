package service

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/memories/vision"
	"github.com/seed-301d4374/engram/predict/frames"
)

const (
	// framesApart is the least time between images that one is predicted from; it is that of the camera if that is slower.
	framesApart = 200 * time.Millisecond
	// framesSlow is the most.
	framesSlow = 10 * time.Second
	// framesRead is how many images one question reads, and framePixels how many pixels they have together; three are
	// read however large they are.
	framesRead, framePixels = 10, 16 << 20
	// framesListed is how many snapshots are looked through for images that are so far apart.
	framesListed = 512
)

// camera is what is known of an entity whose payload holds an image.
type camera struct {
	tracker       *frames.Tracker
	width, height int
}

// pictured returns the newest snapshot of an entity, and, if its first instance holds an image, the payload's type and
// the image's path, which is empty if the payload is it.
func (s *Service) pictured(ctx context.Context, of engram.ID) (latest *engram.Snapshot, t *idf.Type, path string, err error) {
	if latest, err = s.from.Latest(ctx, of); err != nil || len(latest.Instances) == 0 {
		return latest, nil, "", err
	}
	p := latest.Instances[0].Payload
	if t, err = s.typeOf(p.Type); err != nil {
		return latest, nil, "", err
	}
	_, path, found := imageIn(t, p)
	if !found {
		return latest, nil, "", nil
	}
	return latest, t, path, nil
}

// imageIn finds the first image of a payload. Its path is empty if the payload is it.
func imageIn(t *idf.Type, p engram.Payload) (image engram.Payload, path string, found bool) {
	err := t.Walk(p.Bytes, idf.KindImage, func(f *idf.Found) bool {
		image, path, found = engram.Payload{Type: f.Type, Bytes: f.Bytes}, string(f.Path), true
		return false
	})
	return image, path, found && err == nil
}

// picture predicts the image of an entity: its newest one with another luma at each pixel. The errors are those of
// vision.Decode, of [frames.Tracker.Predict], and Unsupported for images that come too seldom.
func (s *Service) picture(ctx context.Context, of engram.ID, e *entity, latest *engram.Snapshot, t *idf.Type, at engram.Time) (image engram.Payload, path string, f *frames.Forecast, err error) {
	image, path, _ = imageIn(t, latest.Instances[0].Payload)
	if err := s.look(ctx, of, e, latest, image); err != nil {
		return image, path, nil, err
	}
	if f, err = e.camera.tracker.Predict(at); err != nil {
		return image, path, nil, engram.Errorf(engram.CodeOf(err), of.String(), "%w", err)
	}
	change := make(frames.Frame, len(f.Frame))
	for i, x := range f.Frame {
		change[i] = x - f.Last[i]
	}
	image, err = vision.Brighten(image, frames.Enlarged(change, e.camera.width, e.camera.height))
	return image, path, f, err
}

// look reads the images of an entity that its predictions need and that were not read before: back from the newest, one
// step apart.
func (s *Service) look(ctx context.Context, of engram.ID, e *entity, latest *engram.Snapshot, image engram.Payload) error {
	q := engram.PatternOf(of).Select(engram.Latest(framesListed))
	q.WithoutPayload = true
	r, err := s.from.Query(ctx, q)
	if err != nil {
		return err
	}
	var times []engram.Time
	for it := range r.All() {
		if it.Time <= latest.Time {
			times = append(times, it.Time)
		}
	}
	slices.Sort(times)
	apart := stepOf(times)
	if apart > framesSlow {
		return engram.Errorf(engram.Unsupported, of.String(), "images that come every %s are not predicted; they must come every %s or faster", apart.Round(time.Second), framesSlow)
	}
	img, err := vision.Decode(image)
	if err != nil {
		return err
	}
	if err := vision.Bits8(image.Type, img); err != nil {
		return err
	}
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	c := e.camera
	if c == nil || c.width != width || c.height != height || (c.tracker.Apart()-apart).Abs() > apart/4 {
		tracker, err := frames.NewTracker(apart)
		if err != nil {
			return err
		}
		c = &camera{tracker, width, height}
		e.camera = c
	}
	apart = c.tracker.Apart()
	type seen struct {
		at    engram.Time
		frame frames.Frame
	}
	var fresh []seen
	learned, any := c.tracker.Learned()
	for n, t := 0, latest.Time; n < framesRead && (n < 3 || (n+1)*width*height <= framePixels); n++ {
		if !c.tracker.Has(t) {
			frame, err := s.frameAt(ctx, of, t, latest, width, height)
			if frame == nil {
				if err != nil {
					return err
				}
				break // what lies before it is of another kind
			}
			fresh = append(fresh, seen{t, frame})
		}
		if any && t < learned.Add(-2*apart) {
			break
		}
		before, ok := nearest(times, t.Add(-apart), apart/4)
		if !ok {
			break
		}
		t = before
	}
	for _, f := range slices.Backward(fresh) {
		c.tracker.Observe(f.at, f.frame)
	}
	return nil
}

// frameAt reads the image of a snapshot, nil if it has none of that size.
func (s *Service) frameAt(ctx context.Context, of engram.ID, at engram.Time, latest *engram.Snapshot, width, height int) (frames.Frame, error) {
	n := latest
	if at != latest.Time {
		var err error
		if n, err = s.from.AtOrBefore(ctx, of, at); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			return nil, nil // it had to go meanwhile
		}
	}
	if n.Time != at || len(n.Instances) == 0 {
		return nil, nil
	}
	t, err := s.typeOf(n.Instances[0].Payload.Type)
	if err != nil {
		return nil, err
	}
	image, _, found := imageIn(t, n.Instances[0].Payload)
	if !found {
		return nil, nil
	}
	img, err := vision.Decode(image)
	if err != nil || vision.Bits8(image.Type, img) != nil || img.Bounds().Dx() != width || img.Bounds().Dy() != height {
		return nil, nil
	}
	return frames.Reduced(img), nil
}

// stepOf is how far apart images are that predictions are made from: as many usual intervals as come nearest to framesApart.
func stepOf(times []engram.Time) time.Duration {
	times = times[max(len(times)-64, 0):]
	var between []time.Duration
	for i := 1; i < len(times); i++ {
		between = append(between, times[i].Sub(times[i-1]))
	}
	if len(between) == 0 {
		return framesApart
	}
	slices.Sort(between)
	usual := max(between[len(between)/2], time.Millisecond)
	return usual * max(1, (framesApart+usual/2)/usual)
}

// nearest returns the one of sorted times that is nearest to another, if it is near enough.
func nearest(times []engram.Time, to engram.Time, within time.Duration) (at engram.Time, ok bool) {
	i, _ := slices.BinarySearch(times, to)
	for _, t := range times[max(i-1, 0):min(i+1, len(times))] {
		if d := t.Sub(to).Abs(); d <= within {
			at, within, ok = t, d, true
		}
	}
	return at, ok
}

// answerPicture answers for an entity whose payload is an image.
func (s *Service) answerPicture(ctx context.Context, of engram.ID, e *entity, latest *engram.Snapshot, t *idf.Type, at engram.Time, p *engram.Prediction) error {
	if at <= latest.Time {
		known, err := s.from.AtOrBefore(ctx, of, at)
		if err != nil {
			return err
		}
		if known.Time != at {
			return engram.Errorf(engram.Unsupported, of.At(at).String(), "images are predicted for times after the newest, which is of %s, not between two", latest.Time)
		}
		p.Snapshot, p.From = known, []engram.ID{of.At(at)}
		return nil
	}
	image, _, f, err := s.picture(ctx, of, e, latest, t, at)
	if err != nil {
		return err
	}
	v, err := t.Decode(image.Bytes)
	if err != nil {
		return err
	}
	instance := latest.Instances[0]
	if instance.Payload.Bytes, err = t.Encode(moved(v, latest.Time, at)); err != nil {
		return err
	}
	instance.Sent, instance.HasSent = 0, false
	p.Snapshot = &engram.Snapshot{Time: at, Predicted: true, Instances: append([]engram.Instance{instance}, latest.Instances[1:]...)}
	p.Horizon = at.Sub(latest.Time)
	p.From = nil
	for _, from := range f.From {
		p.From = append(p.From, of.At(from))
	}
	p.Members = []engram.PredictedMember{lumaMember("", f)}
	return nil
}

// addPicture puts the predicted image into what was predicted of a payload that holds one, in the place of the newest. Where
// that cannot be, the newest stays.
func (s *Service) addPicture(ctx context.Context, of engram.ID, e *entity, latest *engram.Snapshot, t *idf.Type, at engram.Time, p *engram.Prediction) {
	image, path, f, err := s.picture(ctx, of, e, latest, t, at)
	if err != nil {
		return
	}
	payload := &p.Snapshot.Instances[0].Payload
	b := slices.Clone(payload.Bytes)
	held, _, found := imageIn(t, engram.Payload{Type: payload.Type, Bytes: b})
	if !found || len(held.Bytes) != len(image.Bytes) {
		return
	}
	copy(held.Bytes, image.Bytes)
	payload.Bytes = b
	p.Members = append(p.Members, lumaMember(path, f))
}

// lumaMember says how sure a predicted image is: its mean luma, and the errors of its pixels.
func lumaMember(path string, f *frames.Forecast) engram.PredictedMember {
	sum := 0.0
	for _, x := range f.Frame {
		sum += float64(x)
	}
	if path != "" {
		path += "."
	}
	mean := sum / float64(len(f.Frame))
	m := engram.PredictedMember{Path: path + "luma", Mean: mean, SD: f.SD, Low: mean - f.Band, High: mean + f.Band, Model: f.Model, Skill: f.Skill}
	if math.IsInf(f.Band, 1) {
		m.Low, m.High = math.Inf(-1), math.Inf(1)
	}
	return m
}
