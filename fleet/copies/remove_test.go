package copies_test

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// A copy that is removed while the manager looks for owners is not pulled any more.
func TestRemovedWhileOwnersAreLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		found := make(chan struct{})
		owners, m := &fakeOwners{}, newFakeMemory(false)
		owners.finding = func(memory string) {
			if memory == "robot2:Object" {
				<-found
			}
		}
		for _, robot := range []string{"robot1", "robot2"} {
			o := newFakeOwner(robot)
			o.write("cup", 1)
			owners.join(robot+":Object", o)
		}
		h := open(t, m, owners, "")
		defer closeHolder(t, h)
		defer close(found)
		add(t, h, "robot2:Object")
		synctest.Wait()
		add(t, h, "robot1:Object")
		found <- struct{}{}
		synctest.Wait() // it has found robot1, and looks for robot2
		if err := h.RemoveCopy(t.Context(), "robot1:Object", true); err != nil {
			t.Fatal(err)
		}
		found <- struct{}{}
		synctest.Wait() // it has begun what it found, and looks for robot2 again
		if m.has(entityOf("robot1", "cup")) || !m.has(entityOf("robot2", "cup")) {
			t.Errorf("held is %v; want what robot2 has only", m.content())
		}
	})
}

// While one copy is dropped, however long that takes, the others go on.
func TestOthersGoOnWhileOneIsDropped(t *testing.T) {
	begun, dropped := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(dropped) })
	defer goOn()
	owners, m := &fakeOwners{}, newFakeMemory(false)
	m.dropping = func() { close(begun); <-dropped }
	one, two := newFakeOwner("one"), newFakeOwner("two")
	two.write("cup", 1)
	owners.join("robot1:Object", one)
	owners.join("robot2:Object", one)
	h := open(t, m, owners, "", "*:Object")
	defer closeHolder(t, h)
	until(t, func() string {
		if status(t, h)[0].Made == 2 {
			return ""
		}
		return "the rule makes no copies"
	})
	add(t, h, "robot3:Vision")
	done := make(chan error, 1)
	go func() { done <- h.RemoveCopy(t.Context(), "robot3:Vision", true) }()
	<-begun
	owners.join("robot2:Object", two) // it moves
	until(t, func() string {
		if m.has(entityOf("robot2", "cup")) {
			return ""
		}
		return "the copy of a memory that has moved does not go on"
	})
	goOn()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What a copy had that nobody asked for any more is pulled again if it was dropped with
// another copy of its memory.
func TestWhatWasDroppedIsPulledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("one"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		o.write("cup", 1)
		owners.join("robot1:Object", o)
		h := open(t, m, owners, dir, "robot1:Object/Instance")
		synctest.Wait()
		closeHolder(t, h)
		h = open(t, m, owners, dir)
		defer func() { closeHolder(t, h) }()
		add(t, h, "robot1:Object")
		synctest.Wait()
		if err := h.RemoveCopy(t.Context(), "robot1:Object", true); err != nil || m.has(entityOf("robot1", "cup")) {
			t.Fatalf("dropped: %v; held is %v", err, m.content())
		}
		for _, when := range []string{"in this epoch", "in the next"} {
			add(t, h, "robot1:Object/Instance")
			synctest.Wait()
			if s := status(t, h)[0]; s.State != contract.StateLive || !m.has(entityOf("robot1", "cup")) {
				t.Errorf("%s it is %+v, and held is %v", when, s, m.content())
			}
			closeHolder(t, h)
			h = open(t, m, owners, dir)
		}
	})
}
