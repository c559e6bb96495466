package wal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

var update = flag.Bool("update", false, "write the golden file of the current version anew")

func someDefinitions() []*Record {
	return []*Record{
		{Kind: KindType, Type: engram.TypeDef{Name: "a.Type", Descriptors: []byte{1, 2, 3}, Source: "message Type {}", Format: "proto"}},
		{Kind: KindCoreSegment, Core: engram.CoreSegment{
			ID: engram.MustID("Test/Core"), Type: "a.Type", History: engram.Bounds{MaxCount: 3, MaxAge: time.Minute, MaxBytes: 1 << 40},
			Durability: engram.Synced, FixedProviders: true,
		}},
		{Kind: KindProviderSegment, Provider: engram.ProviderSegment{ID: engram.MustID(`Test/Core/a \/ b`), Type: "b.Type"}},
		{Kind: KindRemoveSegment, Entity: engram.MustID("Test/Core/Provider"), Before: 123456789},
	}
}

func someSnapshots() map[string]*engram.Snapshot {
	return map[string]*engram.Snapshot{
		"Test/Core/Provider/entity": {Time: 1_700_000_000_000_000_000, Instances: []engram.Instance{
			{Payload: engram.Payload{Type: "a.Type", Bytes: []byte("payload")}, Confidence: 0.25},
			{Payload: engram.Payload{Type: "a.Type"}, Sent: -5, HasSent: true, Confidence: 1},
			{Payload: engram.Payload{Type: "b.Type", Bytes: []byte("another")}},
		}},
		"Test/Größe/№ 1/…": {Time: -1, Instances: []engram.Instance{{Payload: engram.Payload{Type: "c"}}}},
	}
}

// The golden files are what each version wrote; they must be read for ever.
func TestGolden(t *testing.T) {
	golden := filepath.Join("testdata", fmt.Sprintf("v%d", Version), "00000003.log")
	if *update {
		writeGolden(t, golden)
	}
	versions, err := filepath.Glob("testdata/v*/00000003.log")
	if err != nil || len(versions) != Version {
		t.Fatalf("golden files %v (%v); want one for each of the versions up to %d", versions, err, Version)
	}
	for _, name := range versions {
		dir := filepath.Join(t.TempDir(), "log")
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(name))); err != nil {
			t.Fatal(err)
		}
		l, losses := open(t, Options{Dir: dir, Memory: "Test"})
		var got []string
		more, err := l.Replay(t.Context(), 0, func(r Record) error {
			if r.Kind == KindSnapshot {
				got = append(got, fmt.Sprintf("%v %+v", r.Entity, *r.Snapshot))
			} else {
				r.Position = 0
				got = append(got, fmt.Sprintf("%+v", r))
			}
			return nil
		})
		if err != nil || len(losses)+len(more) > 0 {
			t.Fatalf("%s: %v, losses %v %v", name, err, losses, more)
		}
		want := map[string]bool{}
		for _, r := range someDefinitions() {
			want[fmt.Sprintf("%+v", *r)] = true
		}
		for id, s := range someSnapshots() {
			s.Arrived = 77
			for i := range s.Instances {
				if in := &s.Instances[i]; !in.HasSent {
					in.Sent, in.HasSent = 77, true
				}
			}
			want[fmt.Sprintf("%v %+v", engram.MustID(id), *s)] = true
		}
		for _, g := range got {
			if !want[g] {
				t.Errorf("%s holds what was not written: %s", name, g)
			}
			delete(want, g)
		}
		for w := range want {
			t.Errorf("%s does not hold: %s", name, w)
		}
	}
}

func writeGolden(t *testing.T, name string) {
	dir := filepath.Join(t.TempDir(), "log")
	os.MkdirAll(dir, 0o700)
	os.WriteFile(filepath.Join(dir, fileName(2)), nil, 0o600) // so that the next one is 3
	l, _ := open(t, Options{Dir: dir, Memory: "Test"})
	for _, r := range someDefinitions() {
		if err := l.begin(r).Append(0, false); err != nil {
			t.Fatal(err)
		}
	}
	for id, s := range someSnapshots() {
		e, err := l.Begin(t.Context(), engram.MustID(id), s)
		if err != nil || e.Append(77, false) != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, fileName(3)))
	if err != nil {
		t.Fatal(err)
	}
	os.MkdirAll(filepath.Dir(name), 0o755)
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
