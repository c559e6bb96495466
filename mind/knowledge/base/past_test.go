package base_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/world"
)

// know has a provider say records at a time.
func know(t testing.TB, s engram.Service, provider string, at engram.Time, records ...record.Record) {
	t.Helper()
	c, err := record.NewCodec(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var commit engram.Commit
	for _, r := range records {
		p, err := c.Encode(&r)
		if err != nil {
			t.Fatal(err)
		}
		id, err := engram.NewID(record.Memory, r.Kind.String(), provider, r.Name)
		if err != nil {
			t.Fatal(err)
		}
		commit.Updates = append(commit.Updates, engram.EntityUpdate{Entity: id, Time: at, Instances: []engram.Instance{engram.NewInstance(p)}})
	}
	results, err := s.Commit(t.Context(), commit)
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// moment is a time as JSON has it.
func moment(t engram.Time) string { return time.Unix(0, int64(t)).UTC().Format(time.RFC3339Nano) }

// execute has the arm say of an execution of a skill what it is.
func execute(t testing.TB, s engram.Service, name string, at engram.Time, members map[string]any) {
	t.Helper()
	write(t, s, "Skill/Execution/arm/"+name, "engram.skill.Execution", at, members)
}

func write(t testing.TB, s engram.Service, entity, typeName string, at engram.Time, members map[string]any) {
	t.Helper()
	def, err := s.Type(t.Context(), typeName)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := idf.ParseType(def)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	b, err := typ.FromJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.Commit(t.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
		Entity: engram.MustID(entity), Time: at, Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
	}}})
	if err == nil {
		err = engram.FirstError(results)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func triple(s, p, o string) rdf.Triple {
	return rdf.Triple{S: rdf.NewIRI(s), P: rdf.NewIRI(p), O: rdf.Term{Kind: rdf.Literal, Value: o}}
}

// What is said late of a past time counts when that is asked for again, though something newer was known.
func TestWhatIsSaidLate(t *testing.T) {
	s, _ := kitchen(t)
	l := local(t, s)
	begin := engram.Now()
	state := func(provider string, now engram.Time, value string) world.Mark {
		w, err := world.Over(t.Context(), s, provider, world.DefaultRules(), world.Clock(func() engram.Time { return now }), world.FromSource(world.Perception))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		mark, err := w.SetState(t.Context(), world.State{Item: "cup", Name: "full", Value: value}, 1)
		if err != nil {
			t.Fatal(err)
		}
		return mark
	}
	at := begin + 500
	want := func(q logic.Question, want ...string) {
		t.Helper()
		if got := ask(t, l, q); !slices.Equal(got, want) {
			t.Fatalf("%s is answered by %q, want %q", q.Text, got, want)
		}
	}
	full := logic.Question{Language: logic.Prolog, Text: `rdf('https://engram.dev/world#cup', 'https://engram.dev/state#full', literal(type(_, X)))`, At: &at}
	state("eye", begin+1000, "no")
	want(full)
	full.After = []logic.Mark{logic.Mark(state("hand", begin+100, "yes"))}
	want(full, "yes")

	const john, says = "http://x/john", "http://x/says"
	known := logic.Question{Language: logic.Prolog, Text: fmt.Sprintf(`rdf('%s', '%s', literal(X))`, john, says), At: &at}
	know(t, s, "p", begin+1000, record.Record{Kind: record.Individual, Name: john, Triples: []rdf.Triple{triple(john, says, "no")}})
	want(known)
	know(t, s, "p", begin+100, record.Record{Kind: record.Individual, Name: john, Triples: []rdf.Triple{triple(john, says, "yes")}})
	know(t, s, "p", begin+2000, record.Record{Kind: record.Individual, Name: john, Triples: []rdf.Triple{triple(john, says, "later")}})
	// When the last is known, the news of the others have come.
	for present := known; ; {
		present.At = nil
		if got := ask(t, l, present); slices.Contains(got, "later") {
			break
		}
	}
	want(known, "yes")
}
