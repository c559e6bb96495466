package codec

import (
	"testing"

	"github.com/seed-301d4374/engram"
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
	for _, quality := range []float64{36, 40, 44} {
		want := stereo(t, 30, 6, "rgb8")
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
		// A clamped colour moves its luma a little.
		sameSnapshots(t, decodeAll(t, c, messages...), want, quality-0.1)
	}
}

func TestExact(t *testing.T) {
	needFFmpeg(t)
	noLeaks(t)
	want := stereo(t, 5, 6, "bgr8")
	c := Config{Codec: Image}
	messages := encodeAll(t, c, want...)
	for _, m := range messages {
		t.Log(m.Type, len(m.Bytes), m.Key)
	}
	sameSnapshots(t, decodeAll(t, c, messages...), want, 0)
}
