package main

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
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

// g1Joints returns the states of the real robot's 43 joints as they were committed,
// at 30 Hz.
func g1Joints(c config) ([]engram.Payload, error) {
	histories, err := histories(filepath.Join(c.data, "g1_bottle_2.mcap"), proprioception.String())
	if err != nil {
		return nil, err
	}
	most := slices.MaxFunc(histories, func(a, b history) int { return cmp.Compare(a.values, b.values) })
	var all []engram.Payload
	for _, s := range most.snapshots {
		all = append(all, s.Instances[0].Payload)
	}
	return all, nil
}

var (
	imageSegment   = engram.MustID("Vision/ImageRGB")
	proprioception = engram.MustID("RobotState/Proprioception")
)

// senses are what the real robot has seen and felt, in place of what is simulated;
// nil is as it is simulated.
type senses struct {
	left, right []pixels         // at 20 Hz
	joints      []engram.Payload // at 30 Hz
}

// counted counts the bytes of what the robot commits, and puts the real robot's
// senses in the place of simulated ones, forwards and backwards in turn so that
// nothing ever jumps.
type counted struct {
	engram.Service
	senses
	bytes atomic.Int64
}

func (c *counted) CommitStream(ctx context.Context) (engram.CommitStream, error) {
	s, err := c.Service.CommitStream(ctx)
	return &countedStream{CommitStream: s, counted: c}, err
}

type countedStream struct {
	engram.CommitStream
	*counted
	images, states int
}

func (s *countedStream) Send(c engram.Commit) error {
	updates := c.Updates[:0]
	for _, u := range c.Updates {
		switch core := u.Entity.Truncate(engram.LevelCoreSegment); {
		case core == imageSegment && s.left != nil:
			for k, eye := range [][]pixels{s.left, s.right} {
				u.Instances[k].Payload = eye[turning(s.images, len(eye))].payload(u.Time)
			}
			s.images++
		case core == proprioception && s.joints != nil:
			// The simulated ones come with each tick, 100 Hz.
			i := s.states * 30 / 100
			due := s.states == 0 || i > (s.states-1)*30/100
			if s.states++; !due {
				continue
			}
			u.Instances[0].Payload = s.joints[turning(i, len(s.joints))]
		}
		for k := range u.Instances {
			s.bytes.Add(int64(len(u.Instances[k].Payload.Bytes)))
		}
		updates = append(updates, u)
	}
	if c.Updates = updates; len(updates) == 0 {
		return nil
	}
	return s.CommitStream.Send(c)
}

// turning returns the index of the i-th of n that are shown forwards and backwards
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
