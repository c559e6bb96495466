package base_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kitchen is a server with a table, and a cup on it.
func kitchen(t testing.TB) (engram.Service, *world.Memory) {
	t.Helper()
	s := serving.New(t, memories.All()...)
	w, err := world.Over(t.Context(), s, "eye", world.DefaultRules(), world.FromSource(world.Operator))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	box := func(z float64, x, y, h float64) *world.Description {
		return &world.Description{Kinds: []string{"object"}, Box: &world.Box{Pose: pose.Translation(0, 0, z), Size: pose.Vec3{X: x, Y: y, Z: h}}}
	}
	place := func(name string, x, y, z float64, d *world.Description) {
		it := world.NamedItem{Name: name, Item: world.Item{
			Structure: &world.Structure{}, Placement: &world.Placement{Frame: "map", Pose: pose.Translation(x, y, z)}, Description: d,
		}}
		if refused, _, err := w.Update(t.Context(), it); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
	}
	place("table", 0, 0, 0, box(0.35, 1, 1, 0.7))
	place("cup", 0.1, 0.1, 0.7, box(0.05, 0.08, 0.08, 0.1))
	return s, w
}

// ask returns the rows of a question, as text, sorted.
func ask(t testing.TB, s logic.Service, q logic.Question) []string {
	t.Helper()
	var rows []string
	for row, err := range s.Ask(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, strings.Join(row.Texts, " "))
	}
	slices.Sort(rows)
	return rows
}

func local(t testing.TB, s engram.Service) *base.Local {
	l := base.NewLocal(logic.Limits{Time: time.Minute})
	serve(t, l, s)
	return l
}

// serve has questions be answered from a server until the test ends.
func serve(t testing.TB, l *base.Local, s engram.Service) {
	ctx, cancel := context.WithCancel(context.Background())
	if err := l.Start(ctx, s); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

const onTable = `rdf_triple('https://engram.dev/ontology#on', X, 'https://engram.dev/world#table')`

// What is on the table follows what is committed, and is told of any time before.
func TestWhatIsOnTheTable(t *testing.T) {
	s, w := kitchen(t)
	l := local(t, s)
	cup := []string{"https://engram.dev/world#cup"}
	q := logic.Question{Language: logic.Prolog, Text: onTable}
	if got := ask(t, l, q); !slices.Equal(got, cup) {
		t.Fatalf("on the table is %q, want %q", got, cup)
	}
	before := engram.Now()
	mark, err := w.UpdatePose(t.Context(), "cup", "map", pose.Translation(5, 0, 0), pose.Cov{})
	if err != nil {
		t.Fatal(err)
	}
	q.After = []logic.Mark{logic.Mark(mark)}
	if got := ask(t, l, q); len(got) > 0 {
		t.Fatalf("on the table is %q after the cup has moved", got)
	}
	q.At = &before
	for range 2 { // read, and remembered
		if got := ask(t, l, q); !slices.Equal(got, cup) {
			t.Fatalf("on the table was %q, want %q", got, cup)
		}
	}
	q.At, q.Text = nil, fmt.Sprintf("holds(%s, %d.%09d)", onTable, int64(before)/1e9, int64(before)%1e9)
	if got := ask(t, l, q); !slices.Equal(got, cup) {
		t.Fatalf("held %q, want %q", got, cup)
	}
}

type only string // a memory

func (o only) Visibility(id engram.ID) engram.Visibility {
	if id.Level() == engram.LevelRoot {
		return engram.Partial
	}
	if id.Memory() == string(o) {
		return engram.Visible
	}
	return engram.Hidden
}

// Who may not read the world gets nothing of it, whoever else has asked.
func TestAskWithinRights(t *testing.T) {
	s, _ := kitchen(t)
	l := local(t, s)
	q := logic.Question{Language: logic.Prolog, Text: `aggregate_all(count, rdf('https://engram.dev/world#cup', _, _), N), N > 0`}
	if got := ask(t, l, q); len(got) != 1 {
		t.Fatalf("%q for who may read everything", got)
	}
	for memory, want := range map[string]int{"World": 1, "Knowledge": 0} {
		n := 0
		for _, err := range l.Ask(engram.WithScope(context.Background(), only(memory)), q) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("%d rows for who may read %s only, want %d", n, memory, want)
		}
	}
}

// A server without the memory World knows what documents say.
func TestWithoutWorld(t *testing.T) {
	l := local(t, serving.New(t, memories.Knowledge()))
	if got := ask(t, l, logic.Question{Language: logic.Prolog, Text: "rdf(knowrob:properPhysicalParts, rdf:type, owl:'TransitiveProperty')"}); len(got) != 1 {
		t.Fatalf("%d rows", len(got))
	}
	now := engram.Now()
	if got := ask(t, l, logic.Question{Text: "?x a knowrob:Cup", At: &now}); len(got) > 0 {
		t.Fatalf("%q", got)
	}
}

// What is removed is in no answer any more, of whatever time and belief, also where that was asked before.
func TestWhatIsRemovedIsInNoAnswer(t *testing.T) {
	s, _ := kitchen(t)
	l := local(t, s)
	now := engram.Now()
	questions := []logic.Question{
		{Language: logic.Prolog, Text: onTable},
		{Language: logic.Prolog, Text: onTable, At: &now},
		{Language: logic.Prolog, Text: onTable, At: &now, AsOf: &now},
	}
	for i, q := range questions {
		if got := ask(t, l, q); len(got) != 1 {
			t.Fatalf("question %d: on the table is %q", i, got)
		}
	}
	if err := s.RemoveSegment(t.Context(), engram.MustID("World/Item/eye")); err != nil {
		t.Fatal(err)
	}
	for i, q := range questions {
		if got := ask(t, l, q); len(got) != 0 {
			t.Errorf("question %d: on the table is %q, which was removed", i, got)
		}
	}
}

// What is removed of the past alone is in no answer about it any more.
func TestRemovedHistoryIsInNoAnswer(t *testing.T) {
	s, w := kitchen(t)
	l := local(t, s)
	before := engram.Now()
	if _, err := w.UpdatePose(t.Context(), "cup", "map", pose.Translation(5, 0, 0), pose.Cov{}); err != nil {
		t.Fatal(err)
	}
	after := engram.Now()
	var pasts []logic.Question
	for _, asOf := range []*engram.Time{nil, &after} {
		pasts = append(pasts, logic.Question{Language: logic.Prolog, Text: onTable, At: &before, AsOf: asOf})
	}
	for i, q := range pasts {
		if got := ask(t, l, q); len(got) != 1 {
			t.Fatalf("question %d: on the table was %q", i, got)
		}
	}
	cup := engram.MustID("World/Item/eye/cup")
	if _, err := s.(*server.Server).Parts().Working.Erase(t.Context(), cup, func(s *engram.Snapshot) bool { return s.Time < before }); err != nil {
		t.Fatal(err)
	}
	for i, q := range pasts {
		if got := ask(t, l, q); len(got) != 0 {
			t.Errorf("question %d: on the table was %q, which was removed", i, got)
		}
	}
}
