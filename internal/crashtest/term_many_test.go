package crashtest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/program"
)

var entities = flag.Int("entities", 8_000, "how many entities TestTerminateManyEntities commits, of a segment of each durability")

// TestTerminateManyEntities commits far more entities than may wait for the recorder and
// tells the server to end at once: all of them are there when it starts again.
func TestTerminateManyEntities(t *testing.T) {
	testkit.Long(t)
	binary := program.Engram(t)
	dir, err := os.MkdirTemp("", "term") // short: the path of a socket is bounded
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p, c := startAndConnect(t, binary, dir, "--max-queue", "1000", "--end-within", "10m")
	if err := addSegments(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	providers := []string{"GeneralPurpose/CrashVolatile/many", "GeneralPurpose/CrashLogged/many"}
	payload := testkit.Value(t, 1)
	const batch = 1000
	for first := 0; first < *entities; first += batch {
		for _, provider := range providers {
			var commit engram.Commit
			for i := first; i < min(first+batch, *entities); i++ {
				commit.Updates = append(commit.Updates, engram.EntityUpdate{
					Entity: engram.MustID(fmt.Sprintf("%s/e%d", provider, i)), Time: engram.Time(i), Instances: []engram.Instance{engram.NewInstance(payload)},
				})
			}
			results, err := c.Commit(t.Context(), commit)
			if err := errors.Join(err, engram.FirstError(results)); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now()
	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v; it said\n%s", err, p.said.String())
	}
	t.Logf("%d entities: ended after %v; it said\n%s", len(providers)**entities, time.Since(began).Round(time.Millisecond), p.said.String())
	_, c = startAndConnect(t, binary, dir)
	for _, provider := range providers {
		q := engram.MustPattern(provider).Select(engram.All())
		q.Target = engram.TargetLTM
		got := 0
		err := c.QueryParts(t.Context(), q, func(part *engram.Result) error {
			got += len(part.Items())
			for _, m := range part.Missing {
				t.Errorf("missing %+v", m)
			}
			return nil
		})
		if err != nil || got != *entities {
			t.Errorf("of %d entities of %s %d are on disk, %v", *entities, provider, got, err)
		}
	}
}
