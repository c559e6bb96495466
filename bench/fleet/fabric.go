package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/backbone/embedded"
)

// fabric measures what a message between two robots costs the backbone: from a leaf node
// over the base station to another one, all in this process.
func (o *options) fabric(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "fabric")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	base, err := embedded.Start(ctx, embedded.Options{Robot: "base", LeafListen: "127.0.0.1:0", Dir: filepath.Join(dir, "base")})
	if err != nil {
		return err
	}
	defer base.Close()
	var robots [2]*backbone.Backbone
	for i := range robots {
		name := fmt.Sprint("robot", i)
		fabric, err := embedded.Start(ctx, embedded.Options{Robot: name, LeafOf: []string{base.LeafURL()}, Dir: filepath.Join(dir, name)})
		if err != nil {
			return err
		}
		defer fabric.Close()
		if robots[i], err = backbone.Connect(ctx, backbone.Options{InProcess: fabric, Robot: name}); err != nil {
			return err
		}
		defer robots[i].Close()
	}
	told := make(chan struct{}, 1<<20)
	sub, err := robots[1].Conn().Subscribe("fleet.measure.>", func(*nats.Msg) { told <- struct{}{} })
	if err != nil {
		return err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return err
	}
	for there := false; !there; { // until the interest has come through
		if err := robots[0].Conn().Publish("fleet.measure.first", nil); err != nil {
			return err
		}
		select {
		case <-told:
			there = true
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, size := range []int{128, 1024, 16 << 10} {
		n := min(200_000, 200<<20/size)
		payload := make([]byte, size)
		began, cpu := time.Now(), cpuTime()
		// Messages are lost where too much is under way: NATS holds nobody up.
		window := max(16, 4<<20/size)
		for sent, received := 0, 0; received < n; {
			if sent < n && sent-received < window {
				if err := robots[0].Conn().Publish("fleet.measure.it", payload); err != nil {
					return err
				}
				sent++
				continue
			}
			select {
			case <-told:
				received++
			case <-time.After(30 * time.Second):
				return fmt.Errorf("messages of %d bytes are lost", size)
			}
		}
		took, used := time.Since(began), cpuTime()-cpu
		fmt.Printf("%6d B: %7.0f messages/s, %5.1f MB/s, %v of CPU per message on all of its way\n",
			size, float64(n)/took.Seconds(), float64(n*size)/took.Seconds()/1e6, (used / time.Duration(n)).Round(100*time.Nanosecond))
	}
	return nil
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
