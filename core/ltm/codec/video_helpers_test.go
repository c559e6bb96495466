package codec

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os/exec"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
	"github.com/seed-301d4374/engram/gen/foxglove"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func needFFmpeg(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not installed, which codes video")
	}
}

// realJPEGs returns frames of a recording of a real robot, 640 x 480.
func realJPEGs(t testing.TB, name string, first, n, step int) [][]byte {
	t.Helper()
	r, err := recording.Open(testkit.Recording(t, name+".mcap"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var frames [][]byte
	for i := 0; len(frames) < n; {
		m, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if m.Channel.Topic != "/camera/color/image_raw/compressed" {
			continue
		}
		if i >= first && (i-first)%step == 0 {
			frames = append(frames, bytes.Clone(m.Data[bytes.Index(m.Data, []byte{0xff, 0xd8, 0xff}):]))
		}
		i++
	}
	return frames
}

// rawOf decodes a JPEG into a raw image of an encoding.
func rawOf(t testing.TB, file []byte, encoding string, at engram.Time) engram.Payload {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	width, height, e := img.Bounds().Dx(), img.Bounds().Dy(), encodings[encoding]
	planes, _ := planesOf(1, width, height, image.YCbCrSubsampleRatio444)
	fillFrom(planes, img, 0)
	g := geometry{width, height, width * e.bytes, e}
	data := make([]byte, g.step*height)
	g.paint(data, planes, 255)
	return rawPayload(t, width, height, g.step, encoding, data, at)
}

func rawPayload(t testing.TB, width, height, step int, encoding string, data []byte, at engram.Time) engram.Payload {
	return payloadOf(t, &foxglove.RawImage{
		Timestamp: timestamppb.New(at.Std()), FrameId: "camera", Width: uint32(width), Height: uint32(height),
		Encoding: encoding, Step: uint32(step), Data: data,
	})
}

func payloadOf(t testing.TB, m proto.Message) engram.Payload {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return engram.Payload{Type: string(m.ProtoReflect().Descriptor().FullName()), Bytes: b}
}

const testStart engram.Time = 1_767_225_600_123_456_789

func timeOf(i int) engram.Time { return testStart + engram.Time(i)*engram.Time(50*time.Millisecond) }

func snapshotOf(i int, payloads ...engram.Payload) *engram.Snapshot {
	s := &engram.Snapshot{Time: timeOf(i), Arrived: timeOf(i) + 1000, Number: uint64(i + 1)}
	for _, p := range payloads {
		in := engram.NewInstance(p)
		in.Sent, in.HasSent = timeOf(i)+500, true
		s.Instances = append(s.Instances, in)
	}
	return s
}

// encodeAll returns the messages of snapshots.
func encodeAll(t testing.TB, c Config, snapshots ...*engram.Snapshot) []Message {
	t.Helper()
	e, _, err := NewEncoder(c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return encodeWith(t, e, snapshots...)
}

func encodeWith(t testing.TB, e Encoder, snapshots ...*engram.Snapshot) []Message {
	t.Helper()
	var messages []Message
	emit := func(m Message) error { messages = append(messages, m); return nil }
	for _, s := range snapshots {
		if err := e.Encode(t.Context(), s, emit); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Flush(t.Context(), emit); err != nil {
		t.Fatal(err)
	}
	if p := e.Pending(); len(p) > 0 {
		t.Fatalf("%d snapshots are pending after a flush", len(p))
	}
	return messages
}

// decodeAll returns the snapshots that messages hold.
func decodeAll(t testing.TB, c Config, messages ...Message) []*engram.Snapshot {
	t.Helper()
	d, err := NewDecoder(c)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var snapshots []*engram.Snapshot
	for i, m := range messages {
		s, err := d.Decode(context.Background(), m, nil)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		snapshots = append(snapshots, s...)
	}
	return snapshots
}

// sameSnapshots fails unless the snapshots are equal; where the payloads are lossy,
// all but their pixels.
func sameSnapshots(t testing.TB, got, want []*engram.Snapshot, quality float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d snapshots came back of %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Time != w.Time || g.Arrived != w.Arrived || g.Number != w.Number || len(g.Instances) != len(w.Instances) {
			t.Fatalf("snapshot %d came back as %+v", i, g)
		}
		for k := range w.Instances {
			a, b := g.Instances[k], w.Instances[k]
			if a.Sent != b.Sent || a.HasSent != b.HasSent || a.Confidence != b.Confidence || a.Payload.Type != b.Payload.Type {
				t.Fatalf("instance %d of snapshot %d came back with other metadata", k, i)
			}
			if bytes.Equal(a.Payload.Bytes, b.Payload.Bytes) {
				continue
			}
			if quality == 0 {
				t.Fatalf("instance %d of snapshot %d came back as other bytes", k, i)
			}
			if db := psnrOf(t, a.Payload, b.Payload); db < quality {
				t.Errorf("instance %d of snapshot %d came back with %.2f dB, less than %.2f", k, i, db, quality)
			}
		}
	}
}

// psnrOf returns the PSNR of the luma of two images, computed from their pixels as
// a reader would, and fails if anything else of the payloads differs.
func psnrOf(t testing.TB, a, b engram.Payload) float64 {
	t.Helper()
	shapes := newShapes(Config{})
	pa, oka := openPicture(a, shapes)
	pb, okb := openPicture(b, shapes)
	if !oka || !okb {
		t.Fatalf("not an image: %v %v", oka, okb)
	}
	if !pa.same(&pb.envelope) || !bytes.Equal(pa.stamp, pb.stamp) {
		t.Fatal("something else than the pixels differs")
	}
	if pa.shape == compressedImage && (!pa.decodeFile() || !pb.decodeFile()) {
		t.Fatal("no file that can be decoded")
	}
	planesA, _ := planesOf(1, pa.width, pa.height, 0)
	planesB, _ := planesOf(1, pb.width, pb.height, 0)
	pa.fill(planesA, 0, planesA.Rect.Dx())
	pb.fill(planesB, 0, planesB.Rect.Dx())
	return psnr(view(planesA, 0, pa.width, pa.height), view(planesB, 0, pb.width, pb.height))
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func noLeaks(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}

func mapFS(path, text string) fstest.MapFS {
	return fstest.MapFS{path: &fstest.MapFile{Data: []byte(text)}}
}
