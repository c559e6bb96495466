package protocol

import (
	"encoding/binary"
	"math"

	"github.com/seed-301d4374/engram"
)

// Codes of binary messages of servers.
const (
	OpMessage       = 1 // u32 subscription, u64 time, payload
	OpTime          = 2 // u64 time
	OpServiceAnswer = 3 // u32 service, u32 call, u32 length, encoding, payload
	OpAsset         = 4 // u32 request, u8 status, u32 length, error, data
	OpPlaybackState = 5 // u8 status, u64 time, f32 speed, u8 sought, u32 length, request
)

// Codes of binary messages of clients.
const (
	OpPublish         = 1 // u32 channel, payload
	OpServiceCall     = 2 // u32 service, u32 call, u32 length, encoding, payload
	OpPlaybackControl = 3 // u8 command, f32 speed, u8 seeks, u64 time, u32 length, request
)

// AppendMessage appends a message of a subscription.
func AppendMessage(b []byte, subscription uint32, t engram.Time, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, OpMessage), subscription)
	return append(binary.LittleEndian.AppendUint64(b, uint64(t)), payload...)
}

// AppendTime appends the time of a server.
func AppendTime(b []byte, t engram.Time) []byte {
	return binary.LittleEndian.AppendUint64(append(b, OpTime), uint64(t))
}

// AppendText appends a text with its length.
func AppendText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// AppendServiceAnswer appends the answer to a call.
func AppendServiceAnswer(b []byte, service, call uint32, encoding string, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, OpServiceAnswer), service)
	b = binary.LittleEndian.AppendUint32(b, call)
	return append(AppendText(b, encoding), payload...)
}

// AppendAsset appends an asset, or why there is none.
func AppendAsset(b []byte, request uint32, data []byte, err error) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, OpAsset), request)
	if err != nil {
		return AppendText(append(b, 1), err.Error())
	}
	return append(AppendText(append(b, 0), ""), data...)
}

// Status of a playback.
const (
	Playing = iota
	Paused
	Buffering
	Ended
)

// AppendPlaybackState appends where a playback is.
func AppendPlaybackState(b []byte, state uint8, now engram.Time, speed float32, sought bool, request string) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, OpPlaybackState, state), uint64(now))
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(speed))
	if sought {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return AppendText(b, request)
}

// Fields takes a binary message apart.
type Fields struct {
	B     []byte // what is left
	Short bool   // something was missing; what was taken then is zero
}

func (f *Fields) take(n int) []byte {
	if n < 0 || len(f.B) < n {
		f.B, f.Short = nil, true
		return make([]byte, min(max(n, 0), 8))
	}
	taken := f.B[:n:n]
	f.B = f.B[n:]
	return taken
}

// U8 takes a byte.
func (f *Fields) U8() uint8 { return f.take(1)[0] }

// U32 takes a number of 32 bits.
func (f *Fields) U32() uint32 { return binary.LittleEndian.Uint32(f.take(4)) }

// U64 takes a number of 64 bits.
func (f *Fields) U64() uint64 { return binary.LittleEndian.Uint64(f.take(8)) }

// F32 takes a float of 32 bits.
func (f *Fields) F32() float32 { return math.Float32frombits(f.U32()) }

// Text takes a text with its length.
func (f *Fields) Text() string {
	n := f.U32()
	if uint64(n) > uint64(len(f.B)) {
		f.B, f.Short = nil, true
		return ""
	}
	return string(f.take(int(n)))
}
