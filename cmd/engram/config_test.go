package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

// What may hold commas stands in lines in the environment, everything else is separated
// by commas.
func TestValuesInTheEnvironment(t *testing.T) {
	t.Setenv("ENGRAM_BACKBONE", "embedded")
	t.Setenv("ENGRAM_LISTEN", "unix:/tmp/a.sock,127.0.0.1:7499")
	t.Setenv("ENGRAM_COPY", "robot1:Vision fields=pose,detections\n\nrobot2:Object/~^(cup|mug){1,3}$ where='name in [\"a\", \"b\"]'\n")
	t.Setenv("ENGRAM_PUBLISH_DATA", "Object/Instance/~^a{1,3}$")
	cmd := newServe()
	s, _, err := loadSettings(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"unix:/tmp/a.sock", "127.0.0.1:7499"}; !slices.Equal(s.Listen, want) {
		t.Errorf("addresses: %q", s.Listen)
	}
	if len(s.Copies) != 2 || !slices.Equal(s.Copies[0].Rules.Fields, []string{"pose", "detections"}) || s.Copies[1].Rules.Where != `name in ["a", "b"]` {
		t.Errorf("copies: %+v", s.Copies)
	}
	if len(s.Backbone.PublishData) != 1 || s.Backbone.PublishData[0].String() != engram.MustPattern("Object/Instance/~^a{1,3}$").String() {
		t.Errorf("data that is published: %v", s.Backbone.PublishData)
	}
}

// Of a URL with a password that is torn at a comma nothing is shown.
func TestTornURLIsNotShown(t *testing.T) {
	t.Setenv("ENGRAM_BACKBONE", "embedded")
	t.Setenv("ENGRAM_ROBOT", "robot1")
	t.Setenv("ENGRAM_LEAF_OF", "nats-leaf://user:jelly,cuttle@base:7422")
	_, _, err := loadSettings(newServe())
	if err == nil || strings.Contains(err.Error(), "jelly") || strings.Contains(err.Error(), "cuttle") {
		t.Error(err)
	}
}
