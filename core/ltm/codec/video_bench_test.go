package codec

import (
	"testing"

	"github.com/seed-301d4374/engram"
)

// BenchmarkVideo measures what one real frame of 640 x 480 costs: to encode, to read
// the next one in order, and to read the last of a group with everything cold.
func BenchmarkVideo(b *testing.B) {
	needFFmpeg(b)
	var frames []*engram.Snapshot
	for i, f := range realJPEGs(b, "g1_bottle_2", 0, 50, 1) {
		frames = append(frames, snapshotOf(i, rawOf(b, f, "rgb8", timeOf(i))))
	}
	c := Config{Codec: Video}
	messages := encodeAll(b, c, frames...)
	for _, name := range []string{Video, Image, JPEG} {
		b.Run("encode/"+name, func(b *testing.B) {
			e, _, err := NewEncoder(Config{Codec: name})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			drop := func(Message) error { return nil }
			i := 0
			for b.Loop() {
				if err := e.Encode(b.Context(), frames[i%len(frames)], drop); err != nil {
					b.Fatal(err)
				}
				i++
			}
			if err := e.Flush(b.Context(), drop); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.Run("next", func(b *testing.B) {
		d := &imageDecoder{}
		defer d.Close()
		i := 0
		for b.Loop() {
			if i == len(messages) {
				i = 0
			}
			if _, err := d.Decode(b.Context(), messages[i], nil); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
	b.Run("cold", func(b *testing.B) {
		last := 0
		for last+1 < len(messages) && !messages[last+1].Key {
			last++
		}
		for b.Loop() {
			d := &imageDecoder{}
			for i := range last + 1 {
				if _, err := d.Decode(b.Context(), messages[i], []bool{i == last}); err != nil {
					b.Fatal(err)
				}
			}
			if err := d.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
