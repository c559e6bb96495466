// Package codec turns the snapshots of one entity into what an episode stores and
// back: video for colour images, exact codecs for depth, columns for numbers, and
// the plain message for everything else. A reader always gets payloads of its
// segment's type, whatever form they were stored in.
//
// It knows types and bytes; it knows no files, no episodes and no policies.
package codec

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/ltm/internal/names"
)

// Plain is the codec that stores each instance as one message of its own type.
const Plain = names.Plain

// Message is one stored message: it codes one instance of one snapshot (plain,
// images, video) or all instances of several snapshots (columns).
type Message struct {
	// Type is the full name of the message's type: what the schema of its channel
	// in the episode says. For Plain it is the payload's own type, for video
	// foxglove.CompressedVideo, for columns engram.ltm.v1.Columns.
	Type  string
	Bytes []byte
	// Key says that decoding can begin at this message. Messages that are not keys
	// need all from the last key on, in order.
	Key bool
	// Snapshots are those that the message completes, with their metadata, without
	// the payloads' bytes, in the order in which they were given to Encode. A
	// snapshot of several instances in messages of their own is completed by the
	// last of them; the others name none.
	Snapshots []*engram.Snapshot
	// Instance is the instance's index in its snapshot, for a message of one instance.
	Instance int
}

// Encoder encodes the snapshots of one entity, in the order in which they were
// committed; their times need not ascend, and a time may come again (a superseded
// version). Its methods may be called by one goroutine at a time.
type Encoder interface {
	// Encode takes one snapshot, which it may keep until it is completed, and calls
	// emit with the messages that are ready, which are emit's to keep. A snapshot that
	// the codec cannot code (another size, another encoding, members that it would
	// lose) is emitted in plain form. The error is not nil only if the snapshot
	// was not taken.
	Encode(ctx context.Context, s *engram.Snapshot, emit func(Message) error) error
	// Flush emits what is waiting: afterwards every snapshot taken is completed, and
	// the next message is a key.
	Flush(ctx context.Context, emit func(Message) error) error
	// Pending are the snapshots that were taken and are not completed.
	Pending() []*engram.Snapshot
	// Close ends the encoder without flushing it.
	Close() error
}

// Decoder decodes the messages of one entity. Its methods may be called by one
// goroutine at a time.
type Decoder interface {
	// Decode returns the snapshots that m completes, whole, in the order of
	// m.Snapshots, whose metadata they bear. m follows the message decoded before it, or
	// is a key. want tells for each of m.Snapshots whether its payloads are wanted;
	// those that are not may be nil. Nil wants all.
	Decode(ctx context.Context, m Message, want []bool) ([]*engram.Snapshot, error)
	// Close releases what the decoder holds, such as a process.
	Close() error
}

// MemberDecoder is a decoder that can leave members of payloads out.
type MemberDecoder interface {
	Decoder
	// DecodeMembers is Decode of payloads that have at least the members that are asked for.
	DecodeMembers(ctx context.Context, m Message, want []bool, members Members) ([]*engram.Snapshot, error)
}

// NumberDecoder is a decoder that reads numbers without assembling the payloads that have them.
type NumberDecoder interface {
	Decoder
	// DecodeNumbers returns a row of numbers for each snapshot that m completes, as rows reads them of what Decode returns;
	// nil for one of which they cannot be read.
	DecodeNumbers(ctx context.Context, m Message, rows *idf.NumberRows) ([][]float64, error)
}

// RowsOf reads a row of each of some snapshots, nil for one of which they cannot be read.
func RowsOf(snapshots []*engram.Snapshot, rows *idf.NumberRows) [][]float64 {
	out := newRows(len(snapshots), rows.Len())
	for i, s := range snapshots {
		if rows.Read(s, out[i]) != nil {
			out[i] = nil
		}
	}
	return out
}

// newRows returns rows, which share one piece of memory.
func newRows(n, width int) [][]float64 {
	all, out := make([]float64, n*width), make([][]float64, n)
	for i := range out {
		out[i], all = all[:width:width], all[width:]
	}
	return out
}

// Members says what is asked for of payloads of a type. Nil asks for all.
type Members func(typ string) idf.Kept

// ofPayload returns what is asked for of the i-th of the payloads of snapshots.
func (of Members) ofPayload(snapshots []*engram.Snapshot, i int) idf.Kept {
	for _, s := range snapshots {
		if of == nil || i < 0 {
			break
		}
		if i < len(s.Instances) {
			return of(s.Instances[i].Payload.Type)
		}
		i -= len(s.Instances)
	}
	return idf.KeptWhole()
}

// Config says how one entity's snapshots are coded.
type Config struct {
	Codec string // one of the names that [Names] lists; "" means Plain
	// Payload is the type of the segment's payloads, of which payloads may be extensions.
	Payload *idf.Type
	Types   *idf.Registry // for payloads of other types
	// Quality is the least PSNR of images and video in dB, measured on luma; 0
	// means 40. Lossless codecs ignore it.
	Quality float64
	// MaxError bounds the absolute error of numbers, in their unit; 0 is lossless.
	MaxError float64
	// Shown is how many snapshots per second of codec columns are stored in plain form,
	// for viewers, which do not know columns; 0 means none. Each snapshot is stored once.
	Shown float64
	// Dictionary is what the zstd codec was trained on; nil means none.
	Dictionary []byte
	// Params is what the codec's encoder wrote for the decoder when it was made: the
	// episode keeps it with the channel.
	Params []byte
}
