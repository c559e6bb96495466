package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/deployment"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	kb "github.com/seed-301d4374/engram/mind/knowledge"
	knowledge "github.com/seed-301d4374/engram/mind/knowledge/api"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
	"github.com/seed-301d4374/engram/mind/knowledge/record"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// state places items in the world of a server and returns the mark of the last.
func state(t *testing.T, svc engram.Service, names ...string) logic.Mark {
	t.Helper()
	w, err := world.Over(t.Context(), svc, "eye", world.DefaultRules(), world.FromSource(world.Perception))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var last world.Mark
	for i, name := range names {
		refused, m, err := w.Update(t.Context(), world.NamedItem{Name: name, Item: world.Item{
			Structure:   &world.Structure{},
			Placement:   &world.Placement{Frame: "map", Pose: pose.Translation(float64(i)/4, 0, 0)},
			Description: &world.Description{Kinds: []string{"object"}, Box: &world.Box{Pose: pose.Identity(), Size: pose.Vec3{X: 1, Y: 1, Z: 1}}},
		}})
		if err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		last = m
	}
	return logic.Mark(last)
}

// rows returns the rows of a question, each as text with all that it rests on.
func rows(ctx context.Context, s logic.Service, q logic.Question) (all []string, err error) {
	for row, err := range s.Ask(ctx, q) {
		if err != nil {
			return all, err
		}
		why, err := json.Marshal(row.Why)
		if err != nil {
			return all, err
		}
		all = append(all, strings.Join(row.Texts, " ")+" "+string(why))
	}
	slices.Sort(all)
	return all, nil
}

// Each gets the answers that follow from what they may read, and nothing of the rest comes through: neither in
// counts nor in reasons, errors or past times.
func TestRights(t *testing.T) {
	rules := access.New(access.Options{Log: testkit.Quiet})
	defer rules.Close()
	policy, err := access.Parse([]byte(`rules:
  - {allow: read, to: cook, on: World}
  - {deny: read, to: cook, on: World/Item/*/safe}
  - {allow: read, to: chief, on: '*'}
`))
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Set(policy); err != nil {
		t.Fatal(err)
	}
	d := deployment.New(t)
	e, err := transport.ListenSecurely(secure.Options{Credentials: d.Server(t, "server"), Access: rules}, serving.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	svc := serving.New(t, memories.All()...)
	names := mns.NewLocal()
	defer names.Close()
	serving.Until(t, func(ctx context.Context) error {
		return e.Serve(ctx, svc, names, rpc.Options{Server: "s", Log: testkit.Quiet, Grace: 20 * time.Second})
	})
	as := func(id access.Identity) logic.Service {
		return knowledge.NewClient(serving.Dial(t, e.Addresses()[0], rpc.DialOptions{Credentials: d.Program(t, id)}))
	}
	cook, chief, nobody := as("cook"), as("chief"), as("nobody")
	state(t, svc, "table", "safe")
	before := engram.Now()
	mark := state(t, svc, "cup")
	for _, q := range []logic.Question{
		{Language: logic.Prolog, Text: `rdf(X, rdf:type, 'https://engram.dev/ontology#Item')`},
		{Language: logic.Prolog, Text: `rdf_triple('https://engram.dev/ontology#near', X, Y)`},
		{Language: logic.Prolog, Text: `rdf(X, rdf:type, 'https://engram.dev/ontology#Item')`, At: &before},
		{Language: logic.Prolog, Text: fmt.Sprintf(`holds(rdf(X, rdf:type, 'https://engram.dev/ontology#Item'), %d.%09d)`, before/1e9, before%1e9)},
		{Language: logic.Pattern, Text: `?x a <https://engram.dev/ontology#Item>`, Why: true},
		{Language: logic.Pattern, Text: `?x near ?y`, Why: true},
		{Language: logic.Class, Text: `<https://engram.dev/ontology#Item>`},
	} {
		for range 2 { // read, and remembered
			all, err := rows(t.Context(), chief, q)
			if err != nil || !strings.Contains(strings.Join(all, "\n"), "safe") {
				t.Fatalf("%s: the chief gets %q, %v", q.Text, all, err)
			}
			some, err := rows(t.Context(), cook, q)
			if err != nil || len(some) == 0 || len(some) >= len(all) || strings.Contains(strings.Join(some, "\n"), "safe") {
				t.Errorf("%s: the cook gets %q, %v", q.Text, some, err)
			}
			none, err := rows(t.Context(), nobody, q)
			if err != nil || len(none) > 0 {
				t.Errorf("%s: nobody gets %q, %v", q.Text, none, err)
			}
		}
	}
	count := logic.Question{Language: logic.Prolog, Text: `aggregate_all(count, rdf(_, _, _), N)`, After: []logic.Mark{mark}}
	counted, err := rows(t.Context(), cook, count)
	if err != nil {
		t.Fatal(err)
	}
	// What they may not read changes, and nothing of what they get does.
	count.After = []logic.Mark{state(t, svc, "safe")}
	if _, err := rows(t.Context(), chief, count); err != nil {
		t.Fatal(err)
	}
	count.After = []logic.Mark{mark}
	if again, err := rows(t.Context(), cook, count); err != nil || !slices.Equal(again, counted) {
		t.Errorf("the cook counts %q, then %q, %v", counted, again, err)
	}
	unknown, hidden := `?x near <https://engram.dev/world#nothing>`, `?x near <https://engram.dev/world#safe>`
	a, errA := rows(t.Context(), cook, logic.Question{Text: unknown})
	b, errB := rows(t.Context(), cook, logic.Question{Text: hidden})
	if len(a)+len(b) > 0 || strings.ReplaceAll(fmt.Sprint(errA), "nothing", "safe") != fmt.Sprint(errB) {
		t.Errorf("of what is not there: %q, %v; of what is hidden: %q, %v", a, errA, b, errB)
	}
}

const loops = "loop(X) :- loop(X).\ngrow(X) :- grow(f(X, X)).\nrows(X) :- X = 1.\nrows(X) :- loop(X).\n"

func prolog(text string) logic.Question {
	return logic.Question{Language: logic.Prolog, Text: text, Rules: []logic.Rules{{Name: "loops.pl", Text: loops}}}
}

// Rows come as they are found. A question that does not end is ended by its limits or by who asks, and others are
// answered meanwhile.
func TestQuestionsWithoutEnd(t *testing.T) {
	svc := serving.New(t, memories.All()...)
	h := serving.Serve(t, svc, nil, rpc.Options{}, serving.Socket(t))
	conn := serving.Dial(t, h.Address, rpc.DialOptions{})
	c := knowledge.NewClient(conn)
	state(t, svc, "cup")

	endless, stop := context.WithCancel(t.Context())
	const many = 8
	first, ended := make(chan string, many), make(chan error, many)
	for range many {
		go func() {
			var err error
			for row, failure := range c.Ask(endless, prolog("rows(X)")) {
				if err = failure; err == nil {
					first <- row.Texts[0]
				}
			}
			ended <- err
		}()
	}
	for range many {
		if got := <-first; got != "1" {
			t.Errorf("the first row is %q", got)
		}
	}
	for _, q := range []logic.Question{prolog("loop(X)"), prolog("grow(X)"), prolog("rows(X)")} {
		q.Limits = logic.Limits{Steps: 100_000, Memory: 1 << 20}
		if got, err := rows(t.Context(), c, q); engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("%s: %q, %v; want Exhausted", q.Text, got, err)
		}
	}
	if got, err := rows(t.Context(), c, prolog(`rdf(X, rdf:type, 'https://engram.dev/ontology#Item')`)); err != nil || len(got) != 1 {
		t.Errorf("meanwhile %q, %v", got, err)
	}
	stop()
	for range many {
		if err := <-ended; engram.CodeOf(err) != engram.Canceled {
			t.Errorf("what was given up ends with %v", err)
		}
	}
	n := 0
	for _, err := range c.Ask(t.Context(), prolog("rows(X)")) {
		if n++; err != nil {
			t.Error(err)
		}
		break // who wants no more rows ends it
	}
	q := prolog("member(X, [1, 2, 3])")
	q.Rows = 2
	if got, err := rows(t.Context(), c, q); err == nil || err.Error() != logic.ErrMore.Error() || len(got) != 2 {
		t.Errorf("of three rows two were wanted: %q, %v", got, err)
	}
	if _, err := rows(t.Context(), c, prolog("syntax error(")); engram.CodeOf(err) != engram.Invalid {
		t.Errorf("a question that is none: %v", err)
	}
	for _, language := range []engramv1.QuestionLanguage{-1, 3, 256} {
		answers, err := conn.Open(t.Context(), "/engram.v1.KnowledgeService/AskStepwise", &engramv1.AskRequest{Language: language, Question: "?x a ?y"})
		if err != nil {
			t.Fatal(err)
		}
		if err := answers.Receive(&engramv1.AskResponse{}); engram.CodeOf(err) != engram.Invalid {
			t.Errorf("the language %d: %v", language, err)
		}
		answers.Close()
	}
}

// Who waits for others is told how many come first, whenever that changes, and is answered in the end.
func TestWaitingIsTold(t *testing.T) {
	svc := serving.New(t, memories.Knowledge())
	h := serving.Serve(t, svc, nil, rpc.Options{}, serving.Socket(t))
	c := knowledge.NewClient(serving.Dial(t, h.Address, rpc.DialOptions{}))
	const many = 16
	ended := make(chan error, many)
	var stops []context.CancelFunc
	for range many {
		ctx, stop := context.WithCancel(t.Context())
		stops = append(stops, stop)
		began := make(chan struct{})
		go func() {
			var err error
			for _, err = range c.Ask(ctx, prolog("rows(X)")) {
				if err == nil {
					close(began)
				}
			}
			ended <- err
		}()
		<-began
	}
	type waiting struct {
		told  chan int
		ended chan error
	}
	var queue []waiting
	for i := range 3 {
		w := waiting{make(chan int, 10), make(chan error, 1)}
		queue = append(queue, w)
		q := prolog("X = 1")
		q.Waits = func(before int) { w.told <- before }
		go func() {
			var err error
			for _, err = range c.Ask(t.Context(), q) {
			}
			w.ended <- err
		}()
		if before := <-w.told; before != i {
			t.Errorf("the question %d is told of %d before it", i, before)
		}
	}
	stops[0]()
	for i, w := range queue {
		if err := <-w.ended; err != nil {
			t.Errorf("the question %d ends with %v", i, err)
		}
		close(w.told)
		last := i
		for before := range w.told { // of those that go at once nobody may be told
			if before >= last {
				t.Errorf("the question %d is told of %d before it, then of %d", i, last, before)
			}
			last = before
		}
	}
	for _, stop := range stops {
		stop()
	}
	for range many {
		if err := <-ended; engram.CodeOf(err) != engram.Canceled {
			t.Errorf("what was given up ends with %v", err)
		}
	}
}

// An answer that comes at once has a bound, in rows, notes and bytes.
func TestAnswersAtOnceAreBounded(t *testing.T) {
	svc := serving.New(t, memories.Knowledge())
	h := serving.Serve(t, svc, nil, rpc.Options{}, serving.Socket(t))
	conn := serving.Dial(t, h.Address, rpc.DialOptions{})
	for question, want := range map[string]engram.Code{
		"between(1, 100, X)":    0,
		"between(1, 100001, X)": engram.Exhausted,
		"length(_L, 20000), maplist(=(abcdefghij), _L), atomic_list_concat(_L, X), between(1, 10, Y)":               0,
		"length(_L, 20000), maplist(=(abcdefghij), _L), atomic_list_concat(_L, X), between(1, 100, Y)":              engram.Exhausted,
		"between(1, 10, X), format('~*c~n', [1000000, 0'x])":                                                        0,
		"format('~*c', [1000000, 0'x]), nl, fail ; between(1, 20, X), format('~*c~n', [1000000, 0'x]), fail ; true": engram.Exhausted,
		"between(1, 100000, X), nl, fail ; true":                                                                    0,
		"between(1, 100001, X), nl, fail ; true":                                                                    engram.Exhausted,
	} {
		err := conn.Call(t.Context(), "/engram.v1.KnowledgeService/Ask", &engramv1.AskRequest{Language: engramv1.QuestionLanguage_QUESTION_LANGUAGE_PROLOG, Question: question}, &engramv1.AskResponse{})
		if engram.CodeOf(err) != want {
			t.Errorf("%s: %v", question, err)
		}
	}
}

// Values have the same text from a server as they have without one, whatever the numbers.
func TestValuesOfServers(t *testing.T) {
	svc := serving.New(t, memories.Knowledge())
	h := serving.Serve(t, svc, nil, rpc.Options{}, serving.Socket(t))
	g := kb.NewGraph()
	var said []rdf.Triple
	for i, o := range []rdf.Term{
		rdf.NewTyped("9007199254740993", rdf.NSXSD+"integer"), rdf.NewTyped("1.0", rdf.NSXSD+"decimal"), rdf.NewTagged("Tür", "de"),
		rdf.NewTyped("2024-03-01T10:00:00.123456789Z", rdf.NSXSD+"dateTime"), rdf.NewText("<&>"),
	} {
		it := rdf.Triple{S: rdf.NewIRI(fmt.Sprint("http://x/", i)), P: rdf.NewIRI("http://x/p"), O: o}
		g.Add(it)
		said = append(said, it)
	}
	c, err := record.NewCodec(t.Context(), svc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Import(t.Context(), svc, "x", said, record.Options{Ontology: "http://x"}); err != nil {
		t.Fatal(err)
	}
	values := func(s logic.Service, q logic.Question) (all []string) {
		t.Helper()
		for row, err := range s.Ask(t.Context(), q) {
			if err != nil {
				t.Fatalf("%s: %v", q.Text, err)
			}
			text, err := row.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(text)+" "+strings.Join(row.Texts, " "))
		}
		slices.Sort(all)
		return all
	}
	remote, here := knowledge.NewClient(serving.Dial(t, h.Address, rpc.DialOptions{})), base.Alone{View: base.OfGraph(g, nil)}
	for _, q := range []logic.Question{
		prolog(`X = 9007199254740993, Y = 1.0, Z is 2**70, T = 1700000000123456789, F is 1.0e22, L = [1, 1.0, [18446744073709551617]], C = f(-9007199254740993, 0.1)`),
		prolog(`rdf_has(S, 'http://x/p', O)`),
		{Text: "?s <http://x/p> ?o"},
		{Text: "?s <http://x/p> ?o; count"},
		{JSON: []byte(`{"patterns": [{"s": "?s", "p": "<http://x/p>", "o": "9007199254740993"}], "limit": 1}`)},
	} {
		got, want := values(remote, q), values(here, q)
		if len(got) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s%s\n from a server %s\nwithout one %s", q.Text, q.JSON, got, want)
		}
	}
}
