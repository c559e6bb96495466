//go:build invariants

package local

import (
	"context"
	"testing"

	"github.com/seed-301d4374/engram"
)

// A producer that changes a payload after it handed it over is found out.
func TestPayloadChangedAfterSend(t *testing.T) {
	c := client(t, serve(t, newFake(), Options{}), DialOptions{})
	m, err := c.connection(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := payload(copyBelow+1, 0)
	e, err := m.w.begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	e.updates([]engram.EntityUpdate{update("M/C/P/e", 1, p)})
	m.w.mu.end(kindCommit, flagStream, 1)
	p[7]++
	defer func() {
		if recover() == nil {
			t.Error("a changed payload is written as if nothing had happened")
		}
		m.w.mu.waiting.pieces[0].sum++ // let the client close
		m.w.mu.Unlock()
	}()
	m.w.mu.waiting.vectors(nil)
}

// Scratch that is used again does not hold what was decoded before.
func TestScratchIsCleared(t *testing.T) {
	b := append(commitFrame(0, 1, update("M/C/P/e", 1, payload(33, 0))), commitFrame(0, 2)...)
	rd := readerOf(b, len(b), ownLimits)
	var scratch commit
	var kept engram.Commit
	for range 2 {
		if _, err := rd.next(); err != nil {
			t.Fatal(err)
		}
		c := scratch.decode(&rd.decoder)
		if err := rd.finish(); err != nil {
			t.Fatal(err)
		}
		if kept.Updates == nil {
			kept = c
		}
	}
	if kept.Updates[0].Instances != nil {
		t.Error("a commit that was kept beyond its call still looks valid")
	}
}
