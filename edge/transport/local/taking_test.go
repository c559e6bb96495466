package local

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/intake"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// What a frame would be decoded to is counted before it is decoded; what goes beyond the
// server's bounds ends the connection that sent it, and no other.
func TestFramesAreCountedFirst(t *testing.T) {
	budget := intake.NewBudget(8<<20, 0)
	path := filepath.Join(t.TempDir(), "s")
	stop := serveAt(t, path, newFake(), Options{RPC: rpc.Options{Decoding: budget}})
	address := "local:" + path
	witness := client(t, address, DialOptions{})
	for name, frame := range map[string][]byte{
		// 16 bytes each; what they become is forty times as much.
		"empty updates": frame(kindCommit, 0, 1, append(binary.LittleEndian.AppendUint32(nil, 7000), make([]byte, 7000*minUpdate)...)...),
		"a payload":     commitFrame(0, 1, update("M/C/P/e", 1, payload(5<<20, 0))),
	} {
		t.Run(name, func(t *testing.T) {
			peer := rawDial(t, address).greet()
			if _, err := peer.Write(frame); err == nil {
				peer.CloseWrite()
			} // else it was refused before it was read
			if err := peer.refusal(); engram.CodeOf(err) != engram.Exhausted {
				t.Errorf("refused with %v; want %v", err, engram.Exhausted)
			}
		})
	}
	for i := range 10 {
		if _, err := witness.Commit(testkit.Context(t), engram.Commit{Updates: []engram.EntityUpdate{update("M/C/P/e", engram.Time(i), payload(1<<20, 0))}}); err != nil {
			t.Fatalf("others: %v", err)
		}
	}
	if err := witness.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
}

// A subscription lasts: what its request took is given back once it has begun.
func TestSubscriptionKeepsNoRequest(t *testing.T) {
	budget := intake.NewBudget(64<<20, 0)
	path := filepath.Join(t.TempDir(), "s")
	stop := serveAt(t, path, newFake(), Options{RPC: rpc.Options{Decoding: budget}})
	defer stop()
	c := client(t, "local:"+path, DialOptions{})
	var patterns []engram.Pattern
	for i := range 3000 {
		patterns = append(patterns, engram.MustPattern(fmt.Sprintf("M/C/P/an entity with a long name %d", i)))
	}
	s, err := c.Subscribe(testkit.Context(t), engram.Subscription{Patterns: patterns})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes are still counted", n)
	}
}
