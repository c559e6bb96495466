package episode_test

import (
	"os"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm/episode"
)

// A file's fingerprint stays what it is, and is another one once something is forgotten of it,
// or if it was never sealed or is cut.
func TestFingerprint(t *testing.T) {
	r := record(t, 50, true)
	was, err := episode.FingerprintOf(r.path, quick)
	if err != nil || was.Bytes != int64(len(r.bytes)) || was.Data == 0 || was.Summary == 0 {
		t.Fatalf("%+v, %v", was, err)
	}
	if again, err := episode.FingerprintOf(r.path, quick); err != nil || again != was {
		t.Errorf("%+v, then %+v, %v", was, again, err)
	}
	keep := func(id engram.ID, s *engram.Snapshot) bool { return s.Number != 7 }
	if _, err := episode.Rewrite(t.Context(), r.path, episode.Change{Keep: keep, Why: []string{"test"}}, quick); err != nil {
		t.Fatal(err)
	}
	now, err := episode.FingerprintOf(r.path, quick)
	if err != nil || now.Data == was.Data || now.Summary == was.Summary {
		t.Errorf("it was %+v, and is %+v, %v", was, now, err)
	}
	if err := os.Truncate(r.path, now.Bytes-1); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{r.path, record(t, 5, false).path} {
		got, err := episode.FingerprintOf(path, quick)
		if code := engram.CodeOf(err); code != engram.Corrupt && code != engram.NotFound {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
}
