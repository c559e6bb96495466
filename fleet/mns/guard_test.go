package mns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// Who may know a name hears that its server has left a moment ago. Who may not hears what is
// said of a name that never was, by whatever name it asks.
func TestNamesThatHaveLeftBehindRules(t *testing.T) {
	c := access.New(access.Options{Log: testkit.Quiet})
	if err := c.Set(access.Policy{Rules: []access.Rule{
		{Actions: access.Read, To: []string{"eye"}, On: []engram.Pattern{engram.MustPattern("Object"), engram.MustPattern("robot1:Secret"), engram.MustPattern("robot1:Never")}},
	}}); err != nil {
		t.Fatal(err)
	}
	inner := mns.NewLocalOf("robot1")
	defer inner.Close()
	lease, err := inner.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Object", "Secret"}, Addresses: []string{"unix:/s"}, TTL: mns.MaxTTL})
	if err != nil {
		t.Fatal(err)
	}
	if err := inner.Release(t.Context(), lease.ID); err != nil {
		t.Fatal(err)
	}
	names, eye := mns.Guard(inner, c), access.WithIdentity(t.Context(), "eye")
	if _, err := names.Resolve(eye, "Object"); engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), "taken it over") {
		t.Errorf("what it may know: %v", err)
	}
	for _, robot := range []string{"", "robot1:"} {
		if _, err := inner.Resolve(t.Context(), robot+"Secret"); engram.CodeOf(err) != engram.Unavailable {
			t.Fatal(err)
		}
		_, hidden := names.Resolve(eye, robot+"Secret")
		_, never := names.Resolve(eye, robot+"Never")
		if engram.CodeOf(hidden) != engram.NotFound || strings.Replace(hidden.Error(), "Secret", "Never", 1) != never.Error() {
			t.Errorf("%v, of what there was not: %v", hidden, never)
		}
	}
}

// The name system shows the memories in which somebody may do something, and takes
// registrations from those who may administer them.
func TestNamesBehindRules(t *testing.T) {
	c := access.New(access.Options{Log: testkit.Quiet})
	if err := c.Set(access.Policy{Rules: []access.Rule{
		{Actions: access.Read, To: []string{"eye"}, On: []engram.Pattern{engram.MustPattern("Object/*/Vision")}},
		{Actions: access.Admin, To: []string{"host"}, On: []engram.Pattern{engram.MustPattern("Mine")}},
	}}); err != nil {
		t.Fatal(err)
	}
	inner := mns.NewLocal()
	defer inner.Close()
	if _, err := inner.Register(t.Context(), mns.Registration{Server: "s", Memories: []string{"Object", "Secret"}, Addresses: []string{"unix:/s"}, TTL: mns.MaxTTL}); err != nil {
		t.Fatal(err)
	}
	names := mns.Guard(inner, c)
	eye, host := access.WithIdentity(t.Context(), "eye"), access.WithIdentity(t.Context(), "host")
	list, err := names.List(eye)
	if err != nil || len(list) != 1 || list[0].Memory != "Object" {
		t.Errorf("%v %v", list, err)
	}
	_, hidden := names.Resolve(eye, "Secret")
	_, never := names.Resolve(eye, "Never")
	if engram.CodeOf(hidden) != engram.NotFound || strings.Replace(hidden.Error(), "Secret", "Never", 1) != never.Error() {
		t.Errorf("%v, of what there is not: %v", hidden, never)
	}
	if _, err := names.Register(host, mns.Registration{Server: "h", Memories: []string{"Mine", "Object"}, Addresses: []string{"unix:/h"}}); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("registering another's memory: %v", err)
	}
	lease, err := names.Register(host, mns.Registration{Server: "h", Memories: []string{"Mine"}, Addresses: []string{"unix:/h"}})
	if err != nil {
		t.Fatal(err)
	}
	for what, r := range map[string]mns.Registration{
		"copies alone":             {Server: "e", Copies: []string{"Object"}},
		"another server's":         {Server: "s", Memories: []string{"Mine"}},
		"copies beside":            {Server: "h", Memories: []string{"Mine"}, Copies: []string{"robot1:Object"}},
		"copies as another server": {Server: "s", Copies: []string{"Mine"}},
	} {
		r.Addresses = []string{"unix:/h"}
		if _, err := names.Register(host, r); engram.CodeOf(err) != engram.Forbidden {
			t.Errorf("registering %s: %v", what, err)
		}
	}
	if lease, err = names.Register(host, mns.Registration{Server: "h", Memories: []string{"Mine"}, Addresses: []string{"unix:/h2"}, TTL: mns.MaxTTL}); err != nil {
		t.Errorf("registering again: %v", err)
	}
	if e, err := inner.Resolve(t.Context(), "Object"); err != nil || e.Server != "s" || len(e.Copies) > 0 {
		t.Errorf("%+v %v", e, err)
	}
	if err := names.Release(eye, lease.ID); err != nil {
		t.Error(err)
	}
	if err := names.Renew(eye, lease.ID); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("another's lease was renewed: %v", err)
	}
	if err := names.Renew(host, lease.ID); err != nil {
		t.Error(err)
	}

	var seen []string
	for e, err := range names.Watch(eye) {
		if err != nil {
			if engram.CodeOf(err) != engram.Forbidden {
				t.Error(err)
			}
			break
		}
		if !e.Synced {
			seen = append(seen, e.Entry.Memory)
			continue
		}
		if err := c.Set(access.Policy{Revoked: []access.Revocation{{Identity: "eye"}}}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(seen, []string{"Object"}) {
		t.Errorf("watched: %v", seen)
	}
}
