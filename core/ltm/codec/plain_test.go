package codec

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// Payloads that look like what a codec makes come back byte for byte, whatever codec
// their segment has.
func TestPayloadsThatLookCoded(t *testing.T) {
	noFFmpeg(t)
	noLeaks(t)
	field := func(n protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
	}
	own := func(b ...byte) []byte { return field(codedNumber, b) }
	jpeg := payloadOf(t, &foxglove.CompressedImage{Format: "jpeg", FrameId: "camera", Data: []byte("\xff\xd8\xff\xe0 not really")}).Bytes
	video := payloadOf(t, &foxglove.CompressedVideo{Format: "h264", Data: []byte{0, 0, 0, 1, 9}}).Bytes
	raw := rawPayload(t, 40, 30, 120, "rgb8", bytes.Repeat([]byte{9, 200, 30}, 1200), timeOf(0))
	payloads := []engram.Payload{
		{Type: compressedType, Bytes: slices.Concat(jpeg, own())},
		{Type: compressedType, Bytes: slices.Concat(jpeg, own(1, 2, 3))},
		{Type: compressedType, Bytes: slices.Concat(jpeg, own(8, 1))},
		{Type: compressedType, Bytes: slices.Concat(jpeg, plainMark)},
		{Type: compressedType, Bytes: slices.Concat(jpeg, plainMark, plainMark)},
		{Type: compressedType, Bytes: slices.Concat(plainMark, jpeg)},
		{Type: compressedType, Bytes: slices.Concat(jpeg, field(compressedFrameID, plainMark))},
		{Type: videoType, Bytes: slices.Concat(video, own(8, 1))},
		{Type: videoType, Bytes: slices.Concat(video, plainMark)},
		{Type: CompressedType, Bytes: field(frameNumber, []byte("no frame"))},
		{Type: CompressedType, Bytes: field(plainNumber, []byte("a payload"))},
		{Type: CompressedType},
		{Type: ColumnsType, Bytes: []byte{8, columnsPlain}},
		{Type: ColumnsType},
	}
	// What the codecs themselves make of an image, committed as somebody's own.
	for _, name := range names.All() {
		for _, m := range encodeAll(t, Config{Codec: name}, snapshotOf(0, raw)) {
			if m.Type != raw.Type {
				payloads = append(payloads, engram.Payload{Type: m.Type, Bytes: m.Bytes})
			}
		}
	}
	for _, name := range names.All() {
		var want []*engram.Snapshot
		for i, p := range payloads {
			want = append(want, snapshotOf(3*i, p), snapshotOf(3*i+1, raw, p, raw), snapshotOf(3*i+2, p, p))
		}
		var exact []*engram.Snapshot // lossy codecs change the image
		got := decodeAll(t, Config{Codec: name}, encodeAll(t, Config{Codec: name}, want...)...)
		if len(got) != len(want) {
			t.Fatalf("codec %s gives back %d of %d snapshots", name, len(got), len(want))
		}
		for i := range want {
			for j := range want[i].Instances {
				if want[i].Instances[j].Payload.Type == raw.Type {
					got[i].Instances[j].Payload.Bytes = want[i].Instances[j].Payload.Bytes
				}
			}
			exact = append(exact, got[i])
		}
		t.Run(name, func(t *testing.T) { sameSnapshots(t, exact, want, 0) })
	}
}

// So do those that are too large to be coded.
func TestLargePayloadsThatLookCoded(t *testing.T) {
	for name, typ := range map[string]string{Zstd: CompressedType, Columns: ColumnsType} {
		p := engram.Payload{Type: typ, Bytes: protowire.AppendBytes(protowire.AppendTag(nil, 900, protowire.BytesType), make([]byte, maxCompressed+1))}
		want := []*engram.Snapshot{snapshotOf(0, p, engram.Payload{Type: typ}), snapshotOf(1, engram.Payload{Type: typ})}
		sameSnapshots(t, decodeAll(t, Config{Codec: name}, encodeAll(t, Config{Codec: name}, want...)...), want, 0)
	}
}

// Whatever members of its own an image has, it comes back as it was.
func TestImagesWithMembersOfTheirOwn(t *testing.T) {
	noFFmpeg(t)
	rapid.Check(t, func(rt *rapid.T) {
		var b []byte
		for range rapid.IntRange(0, 4).Draw(rt, "members") {
			n := rapid.SampledFrom([]protowire.Number{stampNumber, compressedData, compressedFormat, codedNumber, codedNumber}).Draw(rt, "member")
			value := rapid.SampledFrom([][]byte{nil, plainSide, plainMark, {8, 1}, {1}, []byte("jpeg")}).Draw(rt, "value")
			b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), value)
		}
		p := engram.Payload{Type: rapid.SampledFrom([]string{compressedType, videoType}).Draw(rt, "type"), Bytes: b}
		name := rapid.SampledFrom([]string{Image, JPEG, Video}).Draw(rt, "codec")
		want := []*engram.Snapshot{snapshotOf(0, p), snapshotOf(1, p, p)}
		sameSnapshots(t, decodeAll(t, Config{Codec: name}, encodeAll(t, Config{Codec: name}, want...)...), want, 0)
	})
}

// What package names lists is what there is.
func TestNamesAreThoseOfTheCodecs(t *testing.T) {
	if have := slices.Sorted(maps.Keys(codecs)); !slices.Equal(have, names.All()) {
		t.Errorf("there are the codecs %v, and named are %v", have, names.All())
	}
}
