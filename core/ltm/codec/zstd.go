package codec

import (
	"context"
	"slices"

	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
)

// Zstd is the codec that compresses each payload by itself, with the dictionary of
// its channel. It helps where messages lie alone: in chunks of a few messages of
// types that were seen before. Within an episode's compressed chunks of many
// messages it does not; docs/formats/codecs.md has the figures.
const Zstd = names.Zstd

// CompressedType is the type of the messages that codec zstd stores.
const CompressedType = "engram.ltm.v1.Compressed"

const (
	// The members of Compressed.
	frameNumber = 1
	plainNumber = 2 // a payload as it is: one of type Compressed would be taken for a coded one
	// maxCompressed bounds a payload that is read; one that is larger stays plain.
	maxCompressed = 64 << 20
	// A dictionary is trained on samples of sampleBytes at most each.
	sampleBytes     = 64 << 10
	minSamples      = 16
	dictionaryBytes = 16 << 10
)

func init() {
	codecs[Zstd] = maker{
		encoder: func(c Config) (Encoder, []byte, error) {
			options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true)}
			if len(c.Dictionary) > 0 {
				options = append(options, zstd.WithEncoderDict(c.Dictionary))
			}
			e, err := zstd.NewWriter(nil, options...)
			if err != nil {
				return nil, nil, engram.Errorf(engram.Invalid, Zstd, "the dictionary cannot be used: %w", err)
			}
			return &zstdEncoder{e: e}, nil, nil
		},
		decoder: func(c Config) (Decoder, error) {
			options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxCompressed)}
			if len(c.Dictionary) > 0 {
				options = append(options, zstd.WithDecoderDicts(c.Dictionary))
			}
			d, err := zstd.NewReader(nil, options...)
			if err != nil {
				return nil, engram.Errorf(engram.Corrupt, Zstd, "the dictionary is damaged: %w", err)
			}
			return &zstdDecoder{d: d}, nil
		},
	}
}

// TrainDictionary makes a dictionary for codec zstd from payloads of one type. The
// error is Invalid if they are too few or too small to learn from.
func TrainDictionary(samples [][]byte) (dictionary []byte, err error) {
	fail := func(format string, args ...any) ([]byte, error) {
		return nil, engram.Errorf(engram.Invalid, Zstd, "no dictionary can be trained: "+format, args...)
	}
	// The library gives up on some inputs by a panic.
	defer func() {
		if p := recover(); p != nil {
			dictionary, err = fail("%v", p)
		}
	}()
	sum := 0
	var usable [][]byte
	for _, s := range samples {
		if s = s[:min(len(s), sampleBytes)]; len(s) >= 8 {
			usable = append(usable, s)
			sum += len(s)
		}
	}
	if len(usable) < minSamples {
		return fail("%d of %d samples have 8 bytes or more; %d are needed", len(usable), len(samples), minSamples)
	}
	dictionary, err = dict.BuildZstdDict(usable, dict.Options{
		MaxDictSize: min(dictionaryBytes, sum/4+256), HashBytes: 6, ZstdDictID: 0x454e47, ZstdLevel: zstd.SpeedDefault,
	})
	if err != nil {
		return fail("%w", err)
	}
	return dictionary, nil
}

type zstdEncoder struct {
	e *zstd.Encoder
}

func (z *zstdEncoder) Encode(_ context.Context, s *engram.Snapshot, emit func(Message) error) error {
	messages := make([]Message, len(s.Instances))
	for i := range s.Instances {
		payload := s.Instances[i].Payload.Bytes
		if len(payload) > maxCompressed {
			return z.plain(s, emit)
		}
		frame := z.e.EncodeAll(payload, nil)
		b := make([]byte, 0, len(frame)+8)
		b = protowire.AppendBytes(protowire.AppendTag(b, frameNumber, protowire.BytesType), frame)
		if len(b) >= len(payload) {
			return z.plain(s, emit)
		}
		messages[i] = Message{Type: CompressedType, Bytes: b, Key: i == 0, Instance: i}
	}
	if n := len(messages); n > 0 {
		messages[n-1].Snapshots = []*engram.Snapshot{WithoutPayload(s)}
	}
	for _, m := range messages {
		if err := emit(m); err != nil {
			return err
		}
	}
	return nil
}

// plain emits a snapshot that is not compressed.
func (*zstdEncoder) plain(s *engram.Snapshot, emit func(Message) error) error {
	return EmitPlain(s, func(m Message) error {
		if m.Type == CompressedType {
			b := make([]byte, 0, len(m.Bytes)+12)
			m.Bytes = protowire.AppendBytes(protowire.AppendTag(b, plainNumber, protowire.BytesType), m.Bytes)
		}
		return emit(m)
	})
}

func (*zstdEncoder) Flush(context.Context, func(Message) error) error { return nil }
func (*zstdEncoder) Pending() []*engram.Snapshot                      { return nil }
func (z *zstdEncoder) Close() error                                   { return z.e.Close() }

type zstdDecoder struct {
	d     *zstd.Decoder
	plain plainDecoder
}

func (z *zstdDecoder) Decode(ctx context.Context, m Message, want []bool) ([]*engram.Snapshot, error) {
	// A message completes no snapshot or its own; what nobody wants is not decompressed.
	if skip := len(m.Snapshots) == 1 && len(want) == 1 && !want[0]; m.Type == CompressedType && !skip {
		payload, err := z.decompress(m.Bytes)
		if err != nil {
			return nil, err
		}
		m.Bytes = payload
	}
	out, err := z.plain.Decode(ctx, m, want)
	for i, s := range out {
		for j := range s.Instances { // their own types, not that of the messages
			s.Instances[j].Payload.Type = m.Snapshots[i].Instances[j].Payload.Type
		}
	}
	return out, err
}

func (z *zstdDecoder) decompress(b []byte) ([]byte, error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || num != frameNumber && num != plainNumber || typ != protowire.BytesType {
		return nil, engram.Errorf(engram.Corrupt, CompressedType, "a message is damaged: it has no frame")
	}
	frame, m := protowire.ConsumeBytes(b[n:])
	if m < 0 || n+m != len(b) {
		return nil, engram.Errorf(engram.Corrupt, CompressedType, "a message is damaged: its frame is cut")
	}
	if num == plainNumber {
		return frame, nil
	}
	payload, err := z.d.DecodeAll(frame, nil)
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, CompressedType, "a frame is damaged: %w", err)
	}
	return slices.Clip(payload), nil
}

func (z *zstdDecoder) Close() error {
	z.d.Close()
	return nil
}
