package codec

import (
	"context"
	"image"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
)

// The codecs of images. Each keeps all of a payload but its pixels as it is, and
// gives back payloads of the type that was committed.
const (
	// Video codes colour images as H.264 by an ffmpeg process, or as JPEG where that
	// is not installed, and depth as [Image] does.
	Video = names.Video
	// JPEG codes colour images one by one, and depth as [Image] does.
	JPEG = names.JPEG
	// Image codes images without loss: colour as FFV1 by an ffmpeg process or as
	// PNG, depth in ways of its own, whatever takes fewer bytes.
	Image = names.Image
)

func init() {
	for _, name := range []string{Video, JPEG, Image} {
		codecs[name] = maker{
			encoder: func(c Config) (Encoder, []byte, error) {
				e, err := newImageEncoder(name, c)
				return e, nil, err
			},
			decoder: func(Config) (Decoder, error) { return &imageDecoder{}, nil },
		}
	}
}

// ForImages returns the codec that fits payloads of a type best: [Video] for raw
// images, or [Image] if it must be lossless. Compressed images stay plain unless a
// policy names a codec: who committed them chose how good they are. It returns
// false if the type is not one of images.
func ForImages(t *idf.Type, lossless bool) (name string, ok bool) {
	switch newShapes(Config{Payload: t}).of(t.Name()) {
	case rawImage:
		if lossless {
			return Image, true
		}
		return Video, true
	case compressedImage:
		return Plain, true
	}
	return "", false
}

const (
	defaultQuality = 40 // dB
	// readMargin is what rounding and clamping on the way back to colours costs, so
	// that a reader finds what was asked for.
	readMargin = 0.1 // dB
	// exactQuality is from what PSNR on only exact codecs will do: 8 bits per colour
	// difference cannot hold more.
	exactQuality = 50
	// fullQuality is from what PSNR on each pixel has a colour of its own.
	fullQuality = 42

	// maxWaiting bounds the snapshots that wait for a codec.
	maxWaiting = 8
	// maxViews bounds the images that share a frame.
	maxViews = 8
	// minVideo is the least side of what is coded as video.
	minVideo = 16
	// raceAgain is after how many images it is tried again what takes fewer bytes.
	raceAgain = 256
)

// FaultCounter is an [Encoder] that depends on something that can fail without
// anything being lost, such as another process.
type FaultCounter interface {
	// Faults returns how often it failed, and how the last time.
	Faults() (n uint64, last error)
}

// imageEncoder codes the images of one entity in a goroutine, so that the caller
// does not wait for ffmpeg.
type imageEncoder struct {
	jobs   chan job
	wake   chan struct{} // something became ready
	cancel context.CancelFunc
	done   chan struct{} // the goroutine has ended
	taken  bool          // something since the last Flush

	mu struct {
		sync.Mutex
		pending []*engram.Snapshot
		ready   []Message
		faults  uint64
		fault   error
	}

	// What follows is the goroutine's.
	codec  string
	shapes *shapes
	still  stillCoder
	ratio  image.YCbCrSubsampleRatio
	h264   *h264Encoder
	ffv1   *ffv1Encoder
	exact  string // the format that took fewer bytes
	images int
	last   *coded // the envelopes that the next message can leave out
	skip   int    // how many images are coded without ffmpeg before it is tried again
	failed int    // tries of ffmpeg that failed in a row
}

// job is a snapshot to code or, if it is nil, a request to begin a new group.
type job struct{ snapshot *engram.Snapshot }

func newImageEncoder(name string, c Config) (*imageEncoder, error) {
	quality := c.Quality
	if quality == 0 {
		quality = defaultQuality
	}
	if !(quality > 0 && quality <= 100) {
		return nil, engram.Errorf(engram.Invalid, "quality", "%v dB is not a PSNR; from 30 to 50 are usual", c.Quality)
	}
	if quality >= exactQuality && name != Image {
		name = Image
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &imageEncoder{
		jobs: make(chan job, maxWaiting+1), wake: make(chan struct{}, 1), cancel: cancel, done: make(chan struct{}),
		codec: name, shapes: newShapes(c), still: stillCoder{quality: quality + readMargin}, ratio: image.YCbCrSubsampleRatio420,
	}
	if quality > fullQuality {
		e.ratio = image.YCbCrSubsampleRatio444
	}
	go e.run(ctx)
	return e, nil
}

// Encode waits only while maxWaiting snapshots wait for the codec.
func (e *imageEncoder) Encode(ctx context.Context, s *engram.Snapshot, emit func(Message) error) error {
	for {
		if err := e.drain(emit); err != nil {
			return err
		}
		if e.waiting() < maxWaiting {
			break
		}
		select {
		case <-e.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.mu.Lock()
	e.mu.pending = append(e.mu.pending, s)
	e.mu.Unlock()
	e.taken = true
	e.jobs <- job{s}
	return nil
}

func (e *imageEncoder) waiting() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.mu.pending)
}

// drain emits what is ready. A message that is refused stays.
func (e *imageEncoder) drain(emit func(Message) error) error {
	for {
		e.mu.Lock()
		if len(e.mu.ready) == 0 {
			e.mu.Unlock()
			return nil
		}
		m := e.mu.ready[0]
		e.mu.Unlock()
		if err := emit(m); err != nil {
			return err
		}
		e.mu.Lock()
		e.mu.ready = e.mu.ready[1:]
		e.mu.pending = e.mu.pending[len(m.Snapshots):]
		e.mu.Unlock()
	}
}

func (e *imageEncoder) Flush(ctx context.Context, emit func(Message) error) error {
	for e.waiting() > 0 {
		if err := e.drain(emit); err != nil {
			return err
		}
		if e.waiting() == 0 {
			break
		}
		select {
		case <-e.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if e.taken {
		e.taken = false
		e.jobs <- job{}
	}
	return nil
}

func (e *imageEncoder) Pending() []*engram.Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*engram.Snapshot(nil), e.mu.pending...)
}

func (e *imageEncoder) Close() error {
	e.cancel()
	<-e.done
	return nil
}

// Faults counts the frames that ffmpeg failed at, which were coded again by another
// process or without it.
func (e *imageEncoder) Faults() (uint64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.faults, e.mu.fault
}

func (e *imageEncoder) run(ctx context.Context) {
	defer close(e.done)
	defer e.stopVideo()
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-e.jobs:
			if j.snapshot == nil {
				e.endGroup()
				continue
			}
			messages := e.code(ctx, j.snapshot)
			if ctx.Err() != nil {
				return
			}
			e.mu.Lock()
			e.mu.ready = append(e.mu.ready, messages...)
			e.mu.Unlock()
			select {
			case e.wake <- struct{}{}:
			default:
			}
		}
	}
}

func (e *imageEncoder) endGroup() {
	e.last = nil
	if e.h264 != nil {
		e.h264.stop()
	}
}

func (e *imageEncoder) stopVideo() {
	e.last = nil
	if e.h264 != nil {
		e.h264.close()
		e.h264 = nil
	}
	if e.ffv1 != nil {
		e.ffv1.close()
		e.ffv1 = nil
	}
}

// fault counts a failure of ffmpeg, which is tried again after ever more images.
func (e *imageEncoder) fault(err error) {
	e.skip = 1 << min(e.failed, 10)
	e.failed++
	e.mu.Lock()
	e.mu.faults++
	e.mu.fault = err
	e.mu.Unlock()
}
