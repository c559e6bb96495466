package robots

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func FuzzParse(f *testing.F) {
	whole := Announcement{Robot: "robot1", Server: "robot1 host", Epoch: 7, Version: 2, Memories: []string{"Object"}, Copies: []string{"base:Map"}, Addresses: []string{"nats:robot1 host"}}
	for _, a := range []Announcement{whole, {Robot: "r", Server: "s", Heartbeat: true}, {Robot: "r", Server: "s", Gone: true}, {}} {
		data, err := json.Marshal(a)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(a.subject(), data)
	}
	f.Add("engram.names.r.s", []byte(`{"robot":"r","server":"s","life":"x"}`))
	f.Fuzz(func(t *testing.T, on string, data []byte) {
		a, err := parse(on, data)
		if err != nil {
			return
		}
		if err := backbone.CheckRobot(a.Robot); err != nil || a.Server == "" || a.subject() != on {
			t.Errorf("took %+v on %q", a, on)
		}
		if len(a.Memories) > mns.MaxMemories || len(a.Copies) > mns.MaxMemories || len(a.Addresses) > mns.MaxAddresses {
			t.Errorf("took %d memories, %d copies, %d addresses", len(a.Memories), len(a.Copies), len(a.Addresses))
		}
	})
}

// What is announced leads to other computers only, whatever the sender says: else it
// could have this side take its own servers for another robot's.
func TestAnnouncedAddressesLeadElsewhere(t *testing.T) {
	a := Announcement{Robot: "r", Server: "s", Memories: []string{"M"}, Addresses: []string{
		"unix:/run/engram.sock", "local:/run/engram.local", "http://127.0.0.1:1", "https://127.9.9.9:1", "https://[::1]:1", "https://[::ffff:127.0.0.1]:1",
		"https://0.0.0.0:1", "https://[::]:1", "https://:1", "https://LOCALHOST.:1", "file:///etc", "https://10.0.0.1:1", "nats:s",
	}}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(a.subject(), data)
	if err != nil || !slices.Equal(got.Addresses, []string{"https://10.0.0.1:1", "nats:s"}) {
		t.Errorf("%q %v", got.Addresses, err)
	}
	a.Addresses = a.Addresses[:3]
	if data, err = json.Marshal(a); err != nil {
		t.Fatal(err)
	}
	if got, err := parse(a.subject(), data); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("one that leads nowhere: %+v %v", got, err)
	}
}

// A server of this process is not another robot's, whoever says so.
func TestOwnServerIsNoOtherRobots(t *testing.T) {
	f := &Fleet{others: others{
		o: Options{Robot: "base", Lease: time.Minute, Log: testkit.Quiet}, announce: make(chan struct{}, 1), changed: make(chan struct{}),
		versions: map[string]*Announcement{}, due: map[string]bool{}, peers: map[string]*peer{}, problems: map[string]problem{}, restarts: map[string]bool{}, warned: map[string]time.Time{},
	}}
	f.take(Announcement{Robot: "robot2", Server: "base host", Epoch: 1, Memories: []string{"Object"}, Addresses: []string{"https://10.0.0.1:1"}})
	f.mu.Lock()
	if f.tableLocked().Len() != 1 {
		t.Error("the announcement was not taken")
	}
	f.announceLocked(mns.Registration{Server: "base host", Memories: []string{"Map"}, Addresses: []string{"nats:base host"}})
	if n := f.tableLocked().Len(); n != 0 {
		t.Errorf("%d names lead to this process", n)
	}
	f.mu.Unlock()
	if p := f.Problems(); len(p) != 1 || !strings.Contains(p[0], "robot2") {
		t.Errorf("problems: %q", p)
	}
}

// A server that begins anew without having left is told of once, whatever comes late from before.
func TestRestartIsTold(t *testing.T) {
	told := make(chan string, 10)
	f := &Fleet{others: others{
		o:   Options{Robot: "base", Lease: time.Minute, DetectionTimeout: time.Hour, Log: testkit.Quiet, Restarted: func(_ context.Context, server string) { told <- server }},
		ctx: t.Context(), announce: make(chan struct{}, 1), changed: make(chan struct{}),
		versions: map[string]*Announcement{}, due: map[string]bool{}, peers: map[string]*peer{}, problems: map[string]problem{}, restarts: map[string]bool{}, warned: map[string]time.Time{},
	}}
	say := func(server string, epoch, version uint64, gone bool) {
		f.take(Announcement{Robot: "robot1", Server: server, Epoch: epoch, Version: version, Gone: gone, Memories: []string{"World"}, Addresses: []string{"nats:" + server}})
	}
	say("one", 1, 0, false)
	say("one", 1, 1, false) // it says something else
	say("one", 2, 0, false) // it was killed
	say("one", 1, 2, false) // late
	say("one", 2, 1, false)
	say("two", 1, 0, false)
	say("two", 1, 0, true) // it leaves
	say("two", 2, 0, false)
	f.done.Wait()
	close(told)
	var all []string
	for server := range told {
		all = append(all, server)
	}
	if !slices.Equal(all, []string{"one"}) {
		t.Errorf("told of %q", all)
	}
}

// Of a server that begins anew again and again one telling is under way at a time, and one follows what came meanwhile.
func TestRestartsAreToldOneByOne(t *testing.T) {
	began, end := make(chan string, 10), make(chan struct{})
	f := &Fleet{others: others{
		o: Options{Robot: "base", Lease: time.Minute, DetectionTimeout: time.Hour, Log: testkit.Quiet, Restarted: func(_ context.Context, server string) {
			began <- server
			<-end
		}},
		ctx: t.Context(), announce: make(chan struct{}, 1), changed: make(chan struct{}),
		versions: map[string]*Announcement{}, due: map[string]bool{}, peers: map[string]*peer{}, problems: map[string]problem{}, restarts: map[string]bool{}, warned: map[string]time.Time{},
	}}
	say := func(server string, epoch uint64) {
		f.take(Announcement{Robot: "robot1", Server: server, Epoch: epoch, Memories: []string{server}, Addresses: []string{"nats:" + server}})
	}
	say("one", 1)
	say("two", 1)
	for epoch := range uint64(5) {
		say("one", 2+epoch)
	}
	say("two", 2)
	if got := []string{<-began, <-began}; !slices.Contains(got, "one") || !slices.Contains(got, "two") {
		t.Errorf("told of %q", got)
	}
	close(end)
	f.done.Wait()
	close(began)
	var more []string
	for server := range began {
		more = append(more, server)
	}
	if !slices.Equal(more, []string{"one"}) || len(f.restarts) != 0 {
		t.Errorf("told of %q, too, and %v", more, f.restarts)
	}
}
