package codec

import (
	"bytes"
	"errors"
	"os/exec"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// stereo returns n snapshots of two real images each.
func stereo(t testing.TB, n, step int, encoding string) []*engram.Snapshot {
	left := realJPEGs(t, "g1_bottle_2", 0, n, step)
	right := realJPEGs(t, "g1_bottle_10", 0, n, step)
	snapshots := make([]*engram.Snapshot, n)
	for i := range snapshots {
		snapshots[i] = snapshotOf(i, rawOf(t, left[i], encoding, timeOf(i)), rawOf(t, right[i], encoding, timeOf(i)))
	}
	return snapshots
}

// Every frame of a real stereo pair comes back as good as asked, with a key at
// least every 25 frames.
func TestVideoIsAsGoodAsAsked(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	pairs := stereo(t, 27, 6, "rgb8")
	for quality, n := range map[float64]int{40: 27, 44: 4} {
		want := pairs[:n]
		c := Config{Codec: Video, Quality: quality}
		messages := encodeAll(t, c, want...)
		bytes, sinceKey := 0, 0
		for i, m := range messages {
			if m.Type != "foxglove.CompressedVideo" {
				t.Fatalf("message %d is a %s", i, m.Type)
			}
			if sinceKey++; m.Key {
				sinceKey = 0
			} else if i == 0 || sinceKey >= 25 {
				t.Errorf("message %d is no key, %d after the last", i, sinceKey)
			}
			bytes += len(m.Bytes)
		}
		t.Logf("%v dB: %d bytes per pair", quality, bytes/len(messages))
		sameSnapshots(t, decodeAll(t, c, messages...), want, quality)
	}
}

// Exact video gives back the bytes of the payloads, whatever lies in them beside the
// pixels, and takes less than PNG.
func TestExactVideo(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	types := extendedTypes(t)
	for _, encoding := range []string{"rgb8", "bgra8", "mono8"} {
		want := stereo(t, 3, 6, encoding)
		for i, s := range want {
			s.Instances[1].Payload = extendedPayload(t, s.Instances[1].Payload, "note "+string(rune('a'+i)))
		}
		c := Config{Codec: Image, Types: types}
		messages := encodeAll(t, c, want...)
		for _, m := range messages {
			if m.Type != videoType || !m.Key {
				t.Errorf("a message is a %s, key %v", m.Type, m.Key)
			}
			if share := float64(len(m.Bytes)) / float64(want[0].Size()); share > 0.25 {
				t.Errorf("it takes %.3f of the raw bytes", share)
			}
		}
		sameSnapshots(t, decodeAll(t, c, messages...), want, 0)
	}
}

// A viewer that knows nothing of Engram sees the video.
func TestVideoIsAnnexB(t *testing.T) {
	needFFmpeg(t)
	var stream []byte
	messages := encodeAll(t, Config{Codec: Video, Quality: 36}, small(30, 64, 48)...)
	for i, m := range messages {
		var v foxglove.CompressedVideo
		if err := proto.Unmarshal(m.Bytes, &v); err != nil {
			t.Fatal(err)
		}
		if v.Format != "h264" || v.FrameId != "camera" || v.Timestamp.AsTime().UnixNano() != int64(timeOf(i)) {
			t.Fatalf("message %d: %s %s %v", i, v.Format, v.FrameId, v.Timestamp)
		}
		stream = append(stream, v.Data...)
	}
	cmd := exec.Command("ffmpeg", "-v", "error", "-xerror", "-f", "h264", "-i", "pipe:0", "-fps_mode", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "pipe:1")
	cmd.Stdin = bytes.NewReader(stream)
	out, err := cmd.Output()
	if err != nil || len(out) != len(messages)*64*48*3 {
		t.Fatalf("%d bytes of %d frames: %v", len(out), len(messages), err)
	}
	// Colours are not swapped or shifted: the means of the first frame are its own.
	first, _ := openPicture(small(1, 64, 48)[0].Instances[0].Payload, newShapes(Config{}))
	for c := range 3 {
		var a, b int
		for i := c; i < 64*48*3; i += 3 {
			a, b = a+int(first.pixels[i]), b+int(out[i])
		}
		if d := (a - b) / (64 * 48); d < -3 || d > 3 {
			t.Errorf("colour %d is off by %d", c, d)
		}
	}
}

// small returns n snapshots of a synthetic image that moves.
func small(n, width, height int) []*engram.Snapshot {
	snapshots := make([]*engram.Snapshot, n)
	for i := range snapshots {
		data := make([]byte, 0, width*height*3)
		for y := range height {
			for x := range width {
				data = append(data, byte(40+3*x+2*i), byte(90+2*y), byte(200-x-y-i))
			}
		}
		snapshots[i] = snapshotOf(i, rawPayload(nil, width, height, 3*width, "rgb8", data, timeOf(i)))
	}
	return snapshots
}

// One frame decoded from its key on is what it is among all; those not wanted cost
// nothing and come without bytes.
func TestVideoRandomAccess(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	c := Config{Codec: Video, Quality: 36}
	messages := encodeAll(t, c, small(40, 64, 48)...)
	all := decodeAll(t, c, messages...)
	d, err := NewDecoder(c)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, at := range []int{39, 3, 24, 25, 26, 3, 0} {
		first := at
		for !messages[first].Key {
			first--
		}
		for i := first; i <= at; i++ {
			got, err := d.Decode(t.Context(), messages[i], []bool{i == at})
			if err != nil {
				t.Fatal(err)
			}
			if i == at {
				sameSnapshots(t, got, all[i:i+1], 0)
			} else if got[0].Size() != 0 {
				t.Errorf("frame %d was decoded for nothing", i)
			}
		}
	}
}

// A stream goes on over all that cannot be in the same video: other sizes, other
// types, no image, late and superseded snapshots, flushes.
func TestVideoOfChangingImages(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	odd, even := small(3, 65, 47), small(4, 64, 48)
	scan := payloadOf(t, &foxglove.LaserScan{FrameId: "laser", Ranges: []float64{1, 2, 3}})
	depth := rawPayload(t, 32, 24, 64, "16UC1", le16(depthScene(32, 24, 1)), timeOf(0))
	tiny := rawPayload(t, 2, 2, 6, "rgb8", []byte("0123456789ab"), timeOf(0))
	padded := bytes.Repeat([]byte{10, 20, 30, 0}, 64*48)
	want := []*engram.Snapshot{
		even[0], even[1], odd[0], odd[1], snapshotOf(2, scan), odd[2], even[2], even[1],
		snapshotOf(3, odd[0].Instances[0].Payload, even[0].Instances[0].Payload), // of two sizes
		snapshotOf(4, even[0].Instances[0].Payload, scan),
		snapshotOf(5, depth), snapshotOf(6, even[0].Instances[0].Payload, depth), snapshotOf(7, tiny), even[3],
		snapshotOf(8, even[0].Instances[0].Payload, even[1].Instances[0].Payload, even[2].Instances[0].Payload),
		snapshotOf(9, rawPayload(t, 64, 48, 4*64, "rgba8", padded, timeOf(9))),
		snapshotOf(10, rawPayload(t, 64, 48, 4*64, "bayer_rggb8", padded, timeOf(10))),
	}
	for _, codec := range []string{Video, Image, JPEG} {
		quality := 40.0
		if codec == Image {
			quality = 0
		}
		c := Config{Codec: codec}
		messages := encodeAll(t, c, want...)
		sameSnapshots(t, decodeAll(t, c, messages...), want, quality)
		// From any key on, everything that follows can be decoded.
		for i, m := range messages {
			if m.Key {
				decodeAll(t, c, messages[i:min(i+3, len(messages))]...)
			}
		}
	}
}

func TestFlushBeginsAGroup(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	e, c, err := NewEncoder(Config{Codec: Video, Quality: 36})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	want := small(4, 64, 48)
	first, second := encodeWith(t, e, want[:2]...), encodeWith(t, e, want[2:]...)
	if !first[0].Key || first[1].Key || !second[0].Key || second[1].Key {
		t.Errorf("keys: %v %v, %v %v", first[0].Key, first[1].Key, second[0].Key, second[1].Key)
	}
	sameSnapshots(t, decodeAll(t, c, second...), want[2:], 36)
}

// A message that emit refuses is offered again.
func TestRefusedMessageStays(t *testing.T) {
	noFFmpeg(t)
	noLeaks(t)
	e, _, err := NewEncoder(Config{Codec: Video})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	full := errors.New("the disk is full")
	want := small(2, 32, 32)
	if err := e.Encode(t.Context(), want[0], func(Message) error { return full }); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(t.Context(), func(Message) error { return full }); !errors.Is(err, full) {
		t.Fatal(err)
	}
	if p := e.Pending(); len(p) != 1 || p[0] != want[0] {
		t.Fatalf("%d pending", len(p))
	}
	if messages := encodeWith(t, e, want[1]); len(messages) != 2 {
		t.Errorf("%d messages", len(messages))
	}
}
