package main

import (
	"context"
	"path/filepath"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// g1Frames is how many frames of the real robot's camera are used: all of the
// shorter recording, 30 Hz.
func g1Frames(c config) int {
	if c.quick {
		return 60
	}
	return 290
}

// g1Stereo reads frames of the real robot. It has one camera: two recordings of it
// stand for left and right, which share nothing.
func g1Stereo(c config, n int) (left, right []pixels, err error) {
	if left, err = frames(filepath.Join(c.data, "g1_bottle_2.mcap"), n); err != nil {
		return nil, nil, err
	}
	right, err = frames(filepath.Join(c.data, "g1_bottle_10.mcap"), n)
	return left, right, err
}

// payload encodes an image as it is committed.
func (p pixels) payload(t engram.Time) engram.Payload {
	b, err := proto.Marshal(&foxglove.RawImage{
		Timestamp: timestamppb.New(t.Std()), FrameId: "camera", Width: uint32(p.width), Height: uint32(p.height),
		Encoding: "rgb8", Step: uint32(3 * p.width), Data: p.data,
	})
	if err != nil {
		panic(err) // of a message made just now
	}
	return engram.Payload{Type: "foxglove.RawImage", Bytes: b}
}

// counted counts the bytes of what the robot commits, and puts the real robot's
// images in the place of those that are rendered, forwards and backwards in turn so
// that the picture never jumps.
type counted struct {
	engram.Service
	left, right []pixels
	bytes       atomic.Int64
}

func (c *counted) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	s, err := c.Service.CommitStream(ctx)
	return &countedStream{CommitStream: s, counted: c}, err
}

type countedStream struct {
	engram.CommitStream
	*counted
	taken int // image pairs
}

func (s *countedStream) Send(c engram.Commit) error {
	for i := range c.Updates {
		u := &c.Updates[i]
		if s.left != nil && u.Entity.Truncate(engram.LevelCoreSegment) == imageSegment {
			for k, eye := range [][]pixels{s.left, s.right} {
				u.Instances[k].Payload = eye[turning(s.taken, len(eye))].payload(u.Time)
			}
			s.taken++
		}
		for k := range u.Instances {
			s.bytes.Add(int64(len(u.Instances[k].Payload.Bytes)))
		}
	}
	return s.CommitStream.Send(c)
}

// turning returns the index of the i-th frame if n are shown forwards and backwards
// in turn.
func turning(i, n int) int {
	if n == 1 {
		return 0
	}
	if i %= 2 * (n - 1); i >= n {
		return 2*(n-1) - i
	}
	return i
}
