package api_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	pull "github.com/seed-301d4374/engram/fleet/copies/source/api"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

// pulled is a server whose Pull is a function.
type pulled struct {
	*server.Server
	pull func(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error
}

func (p pulled) Features() []feature.Feature { return []feature.Feature{pull.Feature(p)} }

func (p pulled) Pull(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
	return p.pull(ctx, r, f)
}

func pullVersion(n int, payload []byte) contract.Version {
	return contract.Version{Entity: engram.MustID("Test/Any/P/e"), Snapshot: &engram.Snapshot{
		Time: engram.Time(n), Arrived: engram.Time(n + 5), Number: uint64(n),
		Instances: []engram.Instance{{Payload: engram.Payload{Type: engram.ValueType, Bytes: payload}, Sent: engram.Time(n + 1), HasSent: true, Confidence: 0.5}},
	}}
}

func TestPull(t *testing.T) {
	asked := contract.Request{Holder: "base", Shares: []contract.Share{
		{Patterns: []engram.Pattern{engram.MustPattern("Test/Any"), engram.MustPattern(`Test/~a\/b`)}, After: contract.Position{Epoch: 7, Number: 8, Arrived: -9},
			Rules: contract.Rules{MaxRate: 2.5, Fields: []string{"a", "b.c"}, Where: "true", MaxPayload: 1, MaxBytes: 2, Spare: true, Priority: -3, Since: time.Hour}},
		{Patterns: []engram.Pattern{engram.MustPattern("Test")}},
	}}
	large := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	for i := range large {
		large[i] += byte(i * i >> 7) // not to be compressed into nothing
	}
	want := []contract.Batch{
		{Position: contract.Position{Epoch: 1, Number: 1}},
		{Share: 1, Items: []contract.Version{pullVersion(2, []byte("x")), pullVersion(3, large)}, Position: contract.Position{Epoch: 1, Number: 3, Arrived: 8}},
		{Items: []contract.Version{pullVersion(4, []byte("y"))}, Position: contract.Position{Epoch: 1, Number: 4, Arrived: 9}},
	}
	src := pulled{Server: serving.New(t, serving.Memory("Test", server.Hooks{})), pull: func(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
		if !reflect.DeepEqual(r, asked) {
			return engram.Errorf(engram.Invalid, "", "asked for %+v, want %+v", r, asked)
		}
		for i := range want {
			if err := f(&want[i]); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return engram.Errorf(engram.Canceled, "", "ended")
	}}
	s := serving.Serve(t, src, nil, rpc.Options{}, serving.Socket(t))
	for _, o := range []rpc.DialOptions{{}, {GRPC: true}} {
		c := serving.Dial(t, s.Address, o)
		ctx, cancel := context.WithCancel(t.Context())
		n, wire := 0, int64(0)
		err := pull.NewClient(c).Pull(ctx, asked, func(b *contract.Batch) error {
			wire += b.Wire
			b.Wire = 0
			if b.Position != want[n].Position || b.Share != want[n].Share || len(b.Items) != len(want[n].Items) {
				t.Errorf("batch %d is %+v", n, b)
			}
			for i := range b.Items {
				if !reflect.DeepEqual(b.Items[i], want[n].Items[i]) {
					t.Errorf("item %d of batch %d differs", i, n)
				}
			}
			if n++; n == len(want) {
				cancel()
			}
			return nil
		})
		if engram.CodeOf(err) != engram.Canceled || n != len(want) {
			t.Errorf("after %d batches the pull ended with %v", n, err)
		}
		if wire <= 1000 {
			t.Errorf("%d bytes on the link", wire)
		}
		cancel()
	}
}

// What is under way is bounded, whatever the source would like to tell; and it all
// comes, in order, as the holder takes it.
func TestPullHasLittleUnderWay(t *testing.T) {
	var told atomic.Int64
	const size, count = 10_000, 300
	src := pulled{Server: serving.New(t, serving.Memory("Test", server.Hooks{})), pull: func(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
		for n := range count {
			payload := make([]byte, size)
			x := uint32(n + 1)
			for i := range payload {
				x = x*1664525 + 1013904223
				payload[i] = byte(x >> 24)
			}
			told.Add(size)
			if err := f(&contract.Batch{Items: []contract.Version{pullVersion(n+1, payload)}, Position: contract.Position{Epoch: 1, Number: uint64(n + 1)}}); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	s := serving.Serve(t, src, nil, rpc.Options{}, serving.AnyPort)
	c := serving.Dial(t, s.Address, rpc.DialOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	taken := int64(0)
	err := pull.NewClient(c).Pull(ctx, contract.Request{Shares: []contract.Share{{Patterns: []engram.Pattern{{}}}}}, func(b *contract.Batch) error {
		if under := told.Load() - taken; under > 400_000 {
			t.Errorf("%d bytes are under way", under)
		}
		taken += size
		if want := uint64(taken / size); b.Position.Number != want {
			return fmt.Errorf("batch %d came as number %d", b.Position.Number, want)
		}
		if taken == size*count {
			cancel()
		}
		return nil
	})
	if engram.CodeOf(err) != engram.Canceled || taken != size*count {
		t.Errorf("after %d bytes the pull ended with %v", taken, err)
	}
}

func TestPullEnds(t *testing.T) {
	waiting := func(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
		if err := f(&contract.Batch{}); err != nil {
			return err
		}
		<-ctx.Done()
		return engram.Errorf(engram.Canceled, "", "ended")
	}
	share := contract.Request{Shares: []contract.Share{{Patterns: []engram.Pattern{{}}}}}
	mine := engram.Errorf(engram.Conflict, "x", "mine")
	for _, c := range []struct {
		name string
		pull func(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error
		ask  contract.Request
		then func(s *serving.Handler) error // on the first batch
		want engram.Code
	}{
		{"the holder's error is its own", waiting, share, func(*serving.Handler) error { return mine }, engram.Conflict},
		{"the server stops", waiting, share, func(s *serving.Handler) error { go s.Stop(); return nil }, engram.Unavailable},
		{"the source refuses", func(context.Context, contract.Request, func(*contract.Batch) error) error {
			return engram.Errorf(engram.Exhausted, "x", "too much")
		}, share, nil, engram.Exhausted},
		{"no share", waiting, contract.Request{}, nil, engram.Invalid},
		{"no pattern", waiting, contract.Request{Shares: make([]contract.Share, 1)}, nil, engram.Invalid},
		{"too many shares", waiting, contract.Request{Shares: make([]contract.Share, contract.MaxShares+1)}, nil, engram.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serving.Serve(t, pulled{serving.New(t, serving.Memory("Test", server.Hooks{})), c.pull}, nil, rpc.Options{}, serving.Socket(t))
			client := serving.Dial(t, s.Address, rpc.DialOptions{})
			err := pull.NewClient(client).Pull(t.Context(), c.ask, func(*contract.Batch) error { return c.then(s) })
			if engram.CodeOf(err) != c.want {
				t.Errorf("the pull ended with %v, want %v", err, c.want)
			}
		})
	}
}

// A link that carries nothing any more, and tells nobody, is noticed.
func TestPullNoticesSilence(t *testing.T) {
	src := pulled{Server: serving.New(t, serving.Memory("Test", server.Hooks{})), pull: func(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
		if err := f(&contract.Batch{}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	s := serving.Serve(t, src, nil, rpc.Options{}, serving.AnyPort)
	c := serving.Dial(t, s.Address, rpc.DialOptions{})
	heard := 0
	err := pull.NewClient(c).Pull(t.Context(), contract.Request{Shares: []contract.Share{{Patterns: []engram.Pattern{{}}}}}, func(*contract.Batch) error {
		heard++
		// Only now: until here it may have taken long on a busy machine.
		t.Cleanup(pull.SetPullPatience(300 * time.Millisecond))
		return nil
	})
	if engram.CodeOf(err) != engram.Unavailable || heard != 1 {
		t.Errorf("after %d batches the pull ended with %v", heard, err)
	}
}

// Programs that know only the first version of the stream are pulled from, and pull.
func TestPullOfOlderPrograms(t *testing.T) {
	src := pulled{Server: serving.New(t, serving.Memory("Test", server.Hooks{})), pull: func(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
		for n := range 3 {
			if err := f(&contract.Batch{Items: []contract.Version{pullVersion(n+1, []byte("x"))}, Position: contract.Position{Epoch: 1, Number: uint64(n + 1)}}); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return engram.Errorf(engram.Canceled, "", "ended")
	}}
	s := serving.Serve(t, src, nil, rpc.Options{}, serving.Socket(t))
	for _, format := range []uint32{0, 1, 2, 7} {
		c := serving.Dial(t, s.Address, rpc.DialOptions{})
		used, items, err := pull.PullAs(t.Context(), c, format, contract.Request{Shares: []contract.Share{{Patterns: []engram.Pattern{{}}}}}, 3)
		if want := min(max(format, 1), 2); err != nil || used != want || items != 3 {
			t.Errorf("asked for format %d, the owner tells %d versions in format %d, %v; want 3 in %d", format, items, used, err, want)
		}
	}
}
