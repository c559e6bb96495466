package memories

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/codec"
	"github.com/seed-301d4374/engram/core/ltm/episode"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/gen/foxglove"
)

// Every core segment has a policy that can be followed, and no policy is without one.
func TestEverySegmentHasAPolicy(t *testing.T) {
	for _, m := range All() {
		if len(m.Policies) != len(m.Segments) {
			t.Errorf("%s has %d core segments and %d policies", m.Name, len(m.Segments), len(m.Policies))
		}
		for _, s := range m.Segments {
			p, ok := m.Policies[s.ID.CoreSegment()]
			if !ok {
				t.Errorf("%v has no policy", s.ID)
			}
			if err := p.Validate(); err != nil {
				t.Errorf("%v: %v", s.ID, err)
			}
		}
	}
}

// Without a folder everything is volatile; with one, what does not come again is
// logged, and the folder's policies go over the defaults.
func TestDurabilityNeedsAFolder(t *testing.T) {
	durability := func(c server.Config, id string) engram.Durability {
		t.Helper()
		c.Memories = All()
		s, err := server.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		d, err := s.Describe(t.Context(), engram.MustPattern(id))
		if err != nil || len(d) != 1 {
			t.Fatalf("%v, %v", d, err)
		}
		return d[0].Durability
	}
	if d := durability(server.Config{}, "Skill/Execution"); d != engram.Volatile {
		t.Errorf("without a folder it is %v", d)
	}
	store := func(policies string) *ltm.Store {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(policies), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := ltm.Open(t.Context(), ltm.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if d := durability(server.Config{Store: store("version: 1\n")}, "Skill/Execution"); d != engram.Logged {
		t.Errorf("with a folder it is %v", d)
	}
	if d := durability(server.Config{Store: store("version: 1\npolicies:\n  Skill/*: {durability: synced}\n")}, "Skill/Execution"); d != engram.Synced {
		t.Errorf("with a policy it is %v", d)
	}
}

// Raw images become video at the rate of their policy, though the segment takes any
// image.
func TestImagesAreRecordedAsTheirPolicySays(t *testing.T) {
	dir := t.TempDir()
	store, err := ltm.Open(t.Context(), ltm.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: All(), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	var commit engram.Commit
	add := func(entity string, at engram.Time, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		p := engram.Payload{Type: string(m.ProtoReflect().Descriptor().FullName()), Bytes: b}
		commit.Updates = append(commit.Updates, engram.EntityUpdate{Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	start := engram.Now()
	for i := range 20 { // 20 Hz
		at := start.Add(time.Duration(i) * 50 * time.Millisecond)
		add("Vision/ImageRGB/test/camera", at, &foxglove.RawImage{Width: 32, Height: 16, Step: 96, Encoding: "rgb8", Data: make([]byte, 32*16*3)})
	}
	results, err := s.Commit(t.Context(), commit)
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "episodes", "*.mcap"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	r, err := episode.Open(files[0], episode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, e := range r.Entities() {
		if e.Codec != codec.Video || e.Snapshots != 5 {
			t.Errorf("%v has %d snapshots as %s, want 5 as %s", e.ID, e.Snapshots, e.Codec, codec.Video)
		}
	}
	if len(r.Entities()) != 1 {
		t.Errorf("%d entities are recorded", len(r.Entities()))
	}
}
