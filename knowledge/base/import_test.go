package base_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/knowledge/base"
	"github.com/seed-301d4374/engram/knowledge/rdf"
	"github.com/seed-301d4374/engram/knowledge/record"
	"github.com/seed-301d4374/engram/knowledge/service"
	"github.com/seed-301d4374/engram/memories"
	"github.com/seed-301d4374/engram/pose"
	"github.com/seed-301d4374/engram/world"
)

// document has n individuals that say which edition it is.
func document(n int, edition string) (all []rdf.Triple) {
	for i := range n {
		all = append(all, rdf.Triple{S: rdf.NewIRI(fmt.Sprintf("http://x/i%05d", i)), P: rdf.NewIRI("http://x/edition"), O: rdf.NewText(edition)})
	}
	return all
}

// counted are how many individuals say each edition: such as "old 3, new 2".
func counted(t testing.TB, s service.Service, q service.Question) string {
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
	if _, err := c.Import(t.Context(), s, provider, triples, record.Options{Ontology: "http://x"}); err != nil {
		t.Fatal(err)
	}
}

// A question has all that was acknowledged before it, and of a document all or nothing, while it is imported too.
func TestQuestionsSeeWholeDocuments(t *testing.T) {
	s := serving.New(t, memories.All()...)
	c, l := codecOf(t, s), local(t, s)
	const many = 3000
	want := map[string]bool{"": true}
	for _, edition := range []string{"a", "b", "c"} {
		whole := fmt.Sprintf("%s %d", edition, many)
		want[whole] = true
		done := make(chan error, 1)
		go func() {
			_, err := c.Import(context.Background(), s, "x", document(many, edition), record.Options{Ontology: "http://x"})
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
			if got := counted(t, l, service.Question{}); !want[got] || ended && got != whole {
				t.Fatalf("%q; the import of %s has ended: %v", got, whole, ended)
			}
		}
	}
	if _, err := c.Withdraw(t.Context(), s, "x", record.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := counted(t, l, service.Question{}); got != "" {
		t.Errorf("%q after it was withdrawn", got)
	}
}

// What was written to the world is there for the next question, without a mark.
func TestQuestionsSeeWhatWasWritten(t *testing.T) {
	s, w := kitchen(t)
	l := local(t, s)
	q := service.Question{Language: service.Prolog, Text: onTable}
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
			_, err := c.Import(t.Context(), cutOff{s, &left}, "x", document(n, edition), record.Options{Ontology: "http://x"})
			if err == nil {
				is = fmt.Sprint(edition, " ", n)
			} else if engram.CodeOf(err) != engram.Unavailable {
				t.Fatal(err)
			}
			was = append(was, known{engram.Now(), is})
			anew := local(t, s)
			if got := counted(t, l, service.Question{}); got != is {
				t.Fatalf("%q, want %q", got, is)
			}
			for _, w := range was {
				for _, asker := range []*base.Local{l, anew} {
					if got := counted(t, asker, service.Question{At: &w.at}); got != w.has {
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
			if got := counted(t, anew, service.Question{}); got != is {
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
		_, err := c.Import(t.Context(), s, provider, document(n, "large"), record.Options{Ontology: "http://x"})
		if engram.CodeOf(err) != engram.Exhausted {
			t.Fatalf("%v, want Exhausted", err)
		}
	}
	full("x", 5000)
	if got := counted(t, l, service.Question{}); got != "" {
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
		if got := counted(t, asker, service.Question{}); got != "small 1000" {
			t.Errorf("%q, want what was said before", got)
		}
	}
	imported(t, c, s, "y", document(900, "smaller"))
	if got := counted(t, l, service.Question{}); got != "smaller 900" {
		t.Errorf("%q at last", got)
	}
}
