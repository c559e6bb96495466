package main

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// The views that can be named are those of the page.
func TestViews(t *testing.T) {
	b, err := os.ReadFile("../../edge/web/app/src/panels/index.ts")
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, m := range regexp.MustCompile(`\{ id: '(\w+)'`).FindAllSubmatch(b, -1) {
		there = append(there, string(m[1]))
	}
	named := slices.Clone(views)
	slices.Sort(there)
	slices.Sort(named)
	if !slices.Equal(there, named) {
		t.Errorf("the page has the views %v, and --view knows %v", there, named)
	}
}

// A memory that the asked server has not is shown by the server that hosts it.
func TestPageOfAMemory(t *testing.T) {
	entries := []mns.Entry{
		{Memory: "Object", Server: "robot1", Addresses: []string{"unix:/a.sock", "http://127.0.0.1:7411"}},
		{Memory: "Vision", Server: "eye", Addresses: []string{"http://192.0.2.7:7411", "nats:eye"}, Copies: []mns.Copy{{Server: "base"}}},
		{Memory: "Speech", Server: "ear", Addresses: []string{"unix:/b.sock"}},
		{Memory: "Skill", Server: "hand", Addresses: []string{"https://192.0.2.8:7411"}},
	}
	for _, c := range []struct {
		memory, asked, host, page string
		code                      engram.Code
	}{
		{"Object", "robot1", "robot1", "http://127.0.0.1:7411", 0},
		{"", "robot1", "robot1", "http://127.0.0.1:7411", 0},
		{"Nowhere", "robot1", "robot1", "http://127.0.0.1:7411", 0},
		{"Vision", "robot1", "eye", "http://192.0.2.7:7411", 0},
		{"Vision", "base", "base", "", engram.Unavailable}, // it has a copy, and no TCP address
		{"Speech", "robot1", "ear", "", engram.Unavailable},
		{"Skill", "robot1", "hand", "", engram.Forbidden},
		{"", "", "", "http://127.0.0.1:7411", 0}, // over the backbone
	} {
		host := hostOf(entries, c.memory, c.asked)
		page, err := advertised(entries, host)
		if host != c.host || page != c.page || engram.CodeOf(err) != c.code {
			t.Errorf("%q, of %q: host %q, page %q, %v", c.memory, c.asked, host, page, err)
		}
	}
}
