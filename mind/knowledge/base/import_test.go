package base_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// document has n individuals that say which edition it is.
func document(n int, edition string) (all []rdf.Triple) {
	for i := range n {
		all = append(all, rdf.Triple{S: rdf.NewIRI(fmt.Sprintf("http://x/i%05d", i)), P: rdf.NewIRI("http://x/edition"), O: rdf.NewText(edition)})
	}
	return all
}

// counted are how many individuals say each edition: such as "old 3, new 2".
func counted(t testing.TB, s logic.Service, q logic.Question) string {
	t.Helper()
	q.Text = "?i <http://x/edition> ?e; select ?e, count; order by ?e"
	var all []string
	for row, err := range s.Ask(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Join(row.Texts, " "))
	}
	return strings.Join(all, ", ")
}

func codecOf(t testing.TB, s engram.Service) *record.Codec {
	t.Helper()
	c, err := record.NewCodec(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func imported(t testing.TB, c *record.Codec, s record.Service, provider string, triples []rdf.Triple) {
	t.Helper()
	if _, err := c.Import(t.Context(), s, provider, triples, record.Options{Ontology: "http://x", Replace: true}); err != nil {
		t.Fatal(err)
	}
}

// A question has all that was acknowledged before it, and of a document all or nothing, while it is imported too.
func TestQuestionsSeeWholeDocuments(t *testing.T) {
	s := serving.New(t, memories.All()...)
	c, l := codecOf(t, s), local(t, s)
	const many = 3000
	want := map[string]bool{"": true}
	ends := record.By("x") // of the document, without its ontology
	ends.Levels = append(ends.Levels, engram.OneOf("http://x/i00000", "http://x/i01500", "http://x/i02999"))
	for _, edition := range []string{"a", "b", "c"} {
		whole := fmt.Sprintf("%s %d", edition, many)
		want[whole] = true
		done := make(chan error, 1)
		go func() {
			_, err := c.Import(context.Background(), s, "x", document(many, edition), record.Options{Ontology: "http://x", Replace: true})
			done <- err
		}()
		for ended := false; !ended; {
			select {
			case err := <-done:
				if ended = true; err != nil {
					t.Fatal(err)
				}
			default:
			}
			if got := counted(t, l, logic.Question{}); !want[got] || ended && got != whole {
				t.Fatalf("%q; the import of %s has ended: %v", got, whole, ended)
			}
			said, _, err := c.Read(t.Context(), s, []engram.Pattern{ends}, engram.Now(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range said {
				if len(said) != 3 || one.Triples[0].O != said[0].Triples[0].O {
					t.Fatalf("a part of the document is of several editions: %v", said)
				}
			}
		}
	}
	if _, err := c.Withdraw(t.Context(), s, "x", record.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := counted(t, l, logic.Question{}); got != "" {
		t.Errorf("%q after it was withdrawn", got)
	}
}

// What was written to the world is there for the next question, without a mark.
func TestQuestionsSeeWhatWasWritten(t *testing.T) {
	s, w := kitchen(t)
	l := local(t, s)
	q := logic.Question{Language: logic.Prolog, Text: onTable}
	for i := range 200 {
		if _, err := w.UpdatePose(t.Context(), "cup", "map", pose.Translation(5*float64(i%2), 0.1, 0.7), pose.Cov{}); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, l, q); len(got) != 1-i%2 {
			t.Fatalf("on the table is %q after %d moves", got, i+1)
		}
	}
	if _, err := w.Remove(t.Context(), "cup", "", world.RefuseChildren); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, l, q); len(got) > 0 {
		t.Errorf("%q after it was removed", got)
	}
}

// cutOff is a service that is not reached after some commits.
type cutOff struct {
	record.Service
	left *int
}

func (c cutOff) Commit(ctx context.Context, commit engram.Commit) ([]engram.UpdateResult, error) {
	if *c.left--; *c.left < 0 {
		return nil, engram.Errorf(engram.Unavailable, "", "the server is not reached")
	}
	return c.Service.Commit(ctx, commit)
}

// An import that is cut off says nothing, neither now nor of its time, to who has followed it and to who has not; the
// next one that comes to its end counts.
func TestImportsThatAreCutOff(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 7))
	for range 6 {
		s := serving.New(t, memories.Knowledge())
		c, l := codecOf(t, s), local(t, s)
		type known struct {
			at  engram.Time
			has string
		}
		is, was := "", []known{}
		for range 8 {
			n, edition, left := 1+r.IntN(40), fmt.Sprint("e", r.IntN(3)), r.IntN(4)
			if r.IntN(8) == 0 {
				n += 1000 // in several commits
			}
			_, err := c.Import(t.Context(), cutOff{s, &left}, "x", document(n, edition), record.Options{Ontology: "http://x", Replace: true})
			if err == nil {
				is = fmt.Sprint(edition, " ", n)
			} else if engram.CodeOf(err) != engram.Unavailable {
				t.Fatal(err)
			}
			was = append(was, known{engram.Now(), is})
			anew := local(t, s)
			if got := counted(t, l, logic.Question{}); got != is {
				t.Fatalf("%q, want %q", got, is)
			}
			for _, w := range was {
				for _, asker := range []*base.Local{l, anew} {
					if got := counted(t, asker, logic.Question{At: &w.at}); got != w.has {
						t.Fatalf("%q at an earlier time, want %q", got, w.has)
					}
				}
			}
			said, _, err := c.Read(t.Context(), s, []engram.Pattern{record.By("x")}, engram.Now(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := len(said); got > 0 != (is != "") || got > 0 && !strings.HasSuffix(is, fmt.Sprint(" ", got-1)) { // and the ontology
				t.Fatalf("%d records, want those of %q", got, is)
			}
			one, ofOne := "http://x/i00000", []string(nil)
			for _, w := range was {
				for _, pattern := range []engram.Pattern{record.Of(one), engram.MustPattern("Knowledge/Ontology")} {
					said, _, err := c.Read(t.Context(), s, []engram.Pattern{pattern}, w.at, nil)
					if err != nil {
						t.Fatal(err)
					}
					ofOne = ofOne[:0]
					for _, r := range said {
						ofOne = append(ofOne, r.Name)
						if r.Name == one && r.Triples[0].O.Value != strings.Fields(w.has)[0] {
							t.Fatalf("%v alone says %v, want that of %q", one, r.Triples, w.has)
						}
					}
					if len(ofOne) > 1 || len(ofOne) > 0 != (w.has != "") {
						t.Fatalf("%v finds %v at %v, want what belongs to %q; %v; %v", pattern, ofOne, w.at, w.has, was, said)
					}
				}
			}
			if got := counted(t, anew, logic.Question{}); got != is {
				t.Fatalf("%q for who begins anew, want %q", got, is)
			}
		}
	}
}

// An import for which there is no room leaves nothing, and room for others; what the provider said before stays.
func TestImportsWithoutRoom(t *testing.T) {
	m := memories.Knowledge()
	m.Bounds = engram.Bounds{MaxCount: 2500}
	s := serving.New(t, m)
	c, l := codecOf(t, s), local(t, s)
	full := func(provider string, n int) {
		t.Helper()
		_, err := c.Import(t.Context(), s, provider, document(n, "large"), record.Options{Ontology: "http://x", Replace: true})
		if engram.CodeOf(err) != engram.Exhausted {
			t.Fatalf("%v, want Exhausted", err)
		}
	}
	full("x", 5000)
	if got := counted(t, l, logic.Question{}); got != "" {
		t.Errorf("%q after an import without room", got)
	}
	stats, err := s.Stats(t.Context(), engram.MustPattern("Knowledge"), engram.LevelProviderSegment)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range stats {
		if node.Entities > 0 {
			t.Errorf("%d entities are left in %v", node.Entities, node.ID)
		}
	}
	imported(t, c, s, "y", document(1000, "small"))
	full("y", 5000)
	for _, asker := range []*base.Local{l, local(t, s)} {
		if got := counted(t, asker, logic.Question{}); got != "small 1000" {
			t.Errorf("%q, want what was said before", got)
		}
	}
	imported(t, c, s, "y", document(900, "smaller"))
	if got := counted(t, l, logic.Question{}); got != "smaller 900" {
		t.Errorf("%q at last", got)
	}
}

// full is a service that has no room for one of its commits.
type full struct {
	engram.Service
	left *int
}

func (f full) Commit(ctx context.Context, commit engram.Commit) ([]engram.UpdateResult, error) {
	if *f.left--; *f.left == -1 {
		return nil, engram.Errorf(engram.Exhausted, "", "the memory is full")
	}
	return f.Service.Commit(ctx, commit)
}

// A document of the past for which there is no room leaves what its provider says at present.
func TestPastImportsWithoutRoom(t *testing.T) {
	s := serving.New(t, memories.Knowledge())
	c, l := codecOf(t, s), local(t, s)
	imported(t, c, s, "k", document(2500, "present"))
	for _, n := range []int{2400, 2600} { // some of what is said at present, and more than that
		left := 1
		_, err := c.Import(t.Context(), full{s, &left}, "k", document(n, "past"), record.Options{Ontology: "http://x", At: 100, Replace: true})
		if engram.CodeOf(err) != engram.Exhausted {
			t.Fatalf("%v, want Exhausted", err)
		}
		then := engram.Time(200)
		for _, asker := range []*base.Local{l, local(t, s)} {
			if got := counted(t, asker, logic.Question{}); got != "present 2500" {
				t.Errorf("%q, want what was said before", got)
			}
			if got := counted(t, asker, logic.Question{At: &then}); got != "" {
				t.Errorf("%q in the past", got)
			}
		}
	}
}

// An import of an earlier time than that of one that was cut off is refused, until one of that time or later has come to its end.
func TestImportsBeforeOneThatWasCutOff(t *testing.T) {
	s := serving.New(t, memories.Knowledge())
	c, l := codecOf(t, s), local(t, s)
	load := func(n int, edition string, at engram.Time, commits int) error {
		_, err := c.Import(t.Context(), cutOff{s, &commits}, "x", document(n, edition), record.Options{Ontology: "http://x", At: at, Replace: true})
		return err
	}
	says := func(want string, at ...engram.Time) {
		t.Helper()
		for _, asker := range []*base.Local{l, local(t, s)} {
			q := logic.Question{}
			if len(at) > 0 {
				q.At = &at[0]
			}
			if got := counted(t, asker, q); got != want {
				t.Errorf("%q at %v, want %q", got, at, want)
			}
		}
	}
	const whole = 100
	if err := load(2000, "cut", 2000, 1); engram.CodeOf(err) != engram.Unavailable {
		t.Fatal(err)
	}
	if err := load(10, "earlier", 1000, whole); engram.CodeOf(err) != engram.Conflict || !strings.Contains(err.Error(), engram.Time(2000).String()) {
		t.Errorf("%v, want a Conflict that names the time", err)
	}
	says("")
	if err := load(10, "again", 3000, whole); err != nil {
		t.Fatal(err)
	}
	if err := load(20, "earlier", 1000, whole); err != nil {
		t.Fatal(err)
	}
	says("again 10")
	says("earlier 20", 1500)
	// One of the past is cut off, and then others of its time, of later and of earlier ones end.
	if err := load(2000, "cut", 1200, 1); engram.CodeOf(err) != engram.Unavailable {
		t.Fatal(err)
	}
	says("again 10")
	says("earlier 20", 1300)
	says("", 900)
	for _, at := range []engram.Time{800, 1400, 1200, 3000} {
		if err := load(30, fmt.Sprint("at", int64(at)), at, whole); err != nil {
			t.Fatal(err)
		}
		says(fmt.Sprintf("at%d 30", int64(at)), at+100)
		says(map[bool]string{true: "at3000 30", false: "again 10"}[at == 3000])
	}
	if err := load(40, "last", 4000, whole); err != nil {
		t.Fatal(err)
	}
	says("last 40")
}

// What an import that was cut off has said is nowhere stated again.
func TestPastImportsAfterOneThatWasCutOff(t *testing.T) {
	s := serving.New(t, memories.Knowledge())
	c, l := codecOf(t, s), local(t, s)
	load := func(triples []rdf.Triple, at engram.Time, commits int) error {
		_, err := c.Import(t.Context(), cutOff{s, &commits}, "x", triples, record.Options{Ontology: "http://x", At: at, Replace: true})
		return err
	}
	const whole = 100
	if err := load(document(10, "present")[5:], 3000, whole); err != nil {
		t.Fatal(err)
	}
	large := document(1, "cut") // the first by name, which is not said at present, and has come last
	for i := range 1500 {
		large = append(large, rdf.Triple{S: rdf.NewIRI(fmt.Sprint("http://x/p", i)), P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rdf.NSOWL + "ObjectProperty")})
	}
	if err := load(large, 1000, 1); engram.CodeOf(err) != engram.Unavailable {
		t.Fatal(err)
	}
	for _, at := range []engram.Time{2000, 1500} {
		edition := fmt.Sprint("at", int64(at))
		if err := load(document(3, edition), at, whole); err != nil {
			t.Fatal(err)
		}
		for _, asker := range []*base.Local{l, local(t, s)} {
			if got := counted(t, asker, logic.Question{At: &at}); got != edition+" 3" {
				t.Errorf("%q at %v", got, at)
			}
			if got := counted(t, asker, logic.Question{}); got != "present 5" {
				t.Errorf("%q at present", got)
			}
		}
	}
}

// lagging is a service whose world comes late: while the lock is held.
type lagging struct {
	engram.Service
	late    *sync.Mutex
	waiting chan struct{} // has something when somebody waits for the lock
}

func (l lagging) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	s, err := l.Service.Subscribe(ctx, sub)
	if err != nil || sub.Start.Kind != engram.StartLast {
		return s, err
	}
	return lateStream{s.(pollable), l}, nil
}

type pollable interface {
	engram.UpdateStream
	Poll() ([]engram.Update, error)
	Wait(ctx context.Context) error
}

type lateStream struct {
	pollable
	l lagging
}

func (s lateStream) Poll() ([]engram.Update, error) {
	if !s.l.late.TryLock() {
		select {
		case s.l.waiting <- struct{}{}:
		default:
		}
		s.l.late.Lock()
	}
	defer s.l.late.Unlock()
	return s.pollable.Poll()
}

// Who gives up is not told what is stale, and takes nothing from who asks next.
func TestAskersThatGiveUp(t *testing.T) {
	s, w := kitchen(t)
	var late sync.Mutex
	l := lagging{s, &late, make(chan struct{}, 1)}
	b, err := base.Over(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late.Lock()
	if _, err := w.UpdatePose(t.Context(), "cup", "map", pose.Translation(5, 0.1, 0.7), pose.Cov{}); err != nil {
		t.Fatal(err)
	}
	<-l.waiting // what came is about to be taken
	for range 20 {
		if _, err := b.View(over); err == nil {
			t.Error("who gave up has a view that lacks what was acknowledged")
		}
	}
	views := make(chan *knowledge.View)
	go func() {
		v, err := b.View(t.Context())
		if err != nil {
			t.Error(err)
		}
		views <- v
	}()
	late.Unlock()
	if v := <-views; v != nil {
		for row, err := range base.Ask(t.Context(), v, logic.Question{Language: logic.Prolog, Text: onTable}) {
			t.Errorf("%v is on the table, %v", row.Texts, err)
		}
	}
}
