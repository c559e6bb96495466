package attack

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// secret is in names and payloads that the guest may not know.
const secret = "canary7193"

// The rules: what may be read, written and administered by whom is apart.
const rules = `rules:
  - allow: [read, subscribe]
    to: guest
    on: "*"
  - allow: write
    to: guest
    on: GeneralPurpose/Open
  - deny: [read, subscribe, write, admin]
    to: guest
    on: [GeneralPurpose/Hidden, SystemState]
`

// Whatever an identity asks, of whichever procedure and in whatever protocol, it learns
// nothing of what it may not read, and changes nothing that it may not change.
func TestGuestWithLittleRights(t *testing.T) {
	testkit.RealTime(t, "some calls of the guest are answered within 200 ms")
	chance := chance(t)
	d, v, owner, _ := guarded(t, folder(t))
	hidden := engram.MustID("GeneralPurpose/Hidden/" + secret + "/" + secret)
	for _, id := range []engram.ID{hidden, openTo} {
		if err := owner.AddCoreSegment(t.Context(), engram.CoreSegment{ID: id.Truncate(engram.LevelCoreSegment), Durability: engram.Logged}); err != nil {
			t.Fatal(err)
		}
		text := "open"
		if id == hidden {
			text = secret
		}
		p := testkit.Value(t, map[string]any{"where": text, "x": 5})
		results, err := owner.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{Entity: id, Time: 1, Instances: []engram.Instance{engram.NewInstance(p)}}}})
		if err == nil {
			err = engram.FirstError(results)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	before := state(t, owner, hidden)

	transport := &http.Transport{TLSClientConfig: d.Program(t, "guest").ClientConfig(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	https := &http.Client{Transport: transport}
	all := procedures()
	hints := []string{
		"GeneralPurpose/Hidden", "GeneralPurpose/Hidden/*/*", "GeneralPurpose/~Hid.*", "*/*/~canary.*", hidden.String(), "GeneralPurpose/Open/p/e", "GeneralPurpose",
		"engram.memory == 'GeneralPurpose'", "payload.where.startsWith('can')", "/via/robot1", "SystemState/Audit", "GeneralPurpose/Open",
	}
	ctx, cancel := context.WithTimeout(t.Context(), *lasting)
	defer cancel()
	var guests sync.WaitGroup
	var mu sync.Mutex
	allowed := map[protoreflect.Name]int{}
	for range 3 {
		n := noise{Rand: rand.New(rand.NewPCG(chance.Uint64(), 0)), hints: hints}
		guests.Go(func() {
			for ctx.Err() == nil {
				p := all[n.IntN(len(all))]
				r := n.request(p)
				asked := strings.Contains(string(r.Body), secret)
				call, end := context.WithTimeout(ctx, 200*time.Millisecond)
				status, answer, err := r.Send(call, https, v.server)
				end()
				if !asked && strings.Contains(answer, secret) {
					t.Errorf("%s told the guest %.400q of %s %.300q", r.Path, answer, r.Type, r.Body)
				}
				if err == nil && status == http.StatusOK {
					mu.Lock()
					allowed[p.Name()]++
					mu.Unlock()
				}
			}
		})
	}
	guests.Wait()
	if len(allowed) == 0 {
		t.Error("the guest was not let in at all: nothing was tried")
	}
	if after := state(t, owner, hidden); after != before {
		t.Errorf("the guest has changed what it may not change:\nbefore %s\nafter  %s", before, after)
	}
	t.Logf("answered: %v", allowed)
}

// state returns what the owner sees of what the guest may not touch.
func state(t *testing.T, owner *client.Client, hidden engram.ID) string {
	t.Helper()
	s, err := owner.Latest(t.Context(), hidden)
	if err != nil {
		t.Fatal(err)
	}
	segments, err := owner.Describe(t.Context(), engram.MustPattern("*/*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range segments {
		names = append(names, d.ID.String())
	}
	disk := owner.LongTerm("GeneralPurpose")
	policies, err := disk.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := disk.Rules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	marks, err := disk.Marks(t.Context(), engram.Interval{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return fmt.Sprint(s.Time, s.Number, s.Instances[0].Payload.Bytes, names, policies, rules, marks)
}
