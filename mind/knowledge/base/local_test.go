package base_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

// held is a service whose queries wait until they are let go.
type held struct {
	engram.Service
	asked chan struct{} // a value for each
	goOn  chan struct{}
}

func (h held) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	select {
	case h.asked <- struct{}{}:
	default:
	}
	select {
	case <-h.goOn:
		return h.Service.Query(ctx, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// asking is a question that is asked in the background.
func asking(ctx context.Context, l *base.Local, q logic.Question) (ended chan error) {
	ended = make(chan error, 1)
	go func() {
		var err error
		for _, err = range l.Ask(ctx, q) {
		}
		ended <- err
	}()
	return ended
}

// Who gives a question up while the memories are read for the first time waits no longer, and others who
// wait for the same get their answers.
func TestGivenUpWhileMemoriesAreRead(t *testing.T) {
	s, _ := kitchen(t)
	h := held{s, make(chan struct{}, 1), make(chan struct{})}
	l := local(t, h)
	q := logic.Question{Language: logic.Prolog, Text: onTable}
	ctx, cancel := context.WithCancel(t.Context())
	first := asking(ctx, l, q)
	<-h.asked
	second := asking(t.Context(), l, q)
	cancel()
	if err := <-first; engram.CodeOf(err) != engram.Canceled {
		t.Errorf("what was given up ends with %v", err)
	}
	close(h.goOn)
	if err := <-second; err != nil {
		t.Errorf("the other question ends with %v", err)
	}
	if got := ask(t, l, q); !slices.Equal(got, []string{"https://engram.dev/world#cup"}) {
		t.Errorf("then %q is on the table", got)
	}
}

// failing is a service whose queries fail for a while.
type failing struct {
	engram.Service
	err *error
}

func (f failing) Query(ctx context.Context, q engram.Query) (*engram.Result, error) {
	if *f.err != nil {
		return nil, *f.err
	}
	return f.Service.Query(ctx, q)
}

// What could not be read is read again for the next question.
func TestReadAgainAfterAFailure(t *testing.T) {
	s, _ := kitchen(t)
	broken := errors.New("the disk is gone")
	f := failing{s, &broken}
	l := local(t, f)
	q := logic.Question{Language: logic.Prolog, Text: onTable}
	if err := <-asking(t.Context(), l, q); !errors.Is(err, broken) {
		t.Fatalf("%v, want what the query said", err)
	}
	broken = nil
	if got := ask(t, l, q); len(got) != 1 {
		t.Errorf("then %q is on the table", got)
	}
}

// cut is a service whose subscriptions can be ended.
type cut struct {
	engram.Service
	streams *[]engram.UpdateStream
}

func (c cut) Subscribe(ctx context.Context, sub engram.Subscription) (engram.UpdateStream, error) {
	s, err := c.Service.Subscribe(ctx, sub)
	if err == nil {
		*c.streams = append(*c.streams, s)
	}
	return s, err
}

// A question is not answered from what follows the memories no more, and does not fail for it.
func TestAskedAfterItsNewsEnded(t *testing.T) {
	s, w := kitchen(t)
	c := cut{s, &[]engram.UpdateStream{}}
	l := local(t, c)
	q := logic.Question{Language: logic.Prolog, Text: onTable}
	ask(t, l, q)
	before := *c.streams
	for _, s := range before {
		s.Close()
	}
	mark, err := w.Remove(t.Context(), "cup", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	// That it ended is noticed in the background.
	q.After = []logic.Mark{logic.Mark(mark)}
	for len(*c.streams) == len(before) {
		<-asking(t.Context(), l, q)
	}
	if got := ask(t, l, q); len(got) > 0 {
		t.Errorf("%q is on the table after it was removed", got)
	}
}

// What reading a question takes counts before it is read, and what a row takes before it is handed over.
func TestTextsAndRowsAreCounted(t *testing.T) {
	s, _ := kitchen(t)
	l := base.NewLocal(logic.Limits{Time: time.Minute, Memory: 64 << 20})
	serve(t, l, s)
	rules := func(n int) []logic.Rules {
		return []logic.Rules{{Name: "rules.pl", Text: strings.Repeat("p(a).\n", n)}}
	}
	for _, c := range []struct {
		q    logic.Question
		want string // "" is no error
	}{
		{logic.Question{Text: "p(X)", Rules: rules(50_000)}, ""},
		{logic.Question{Text: "p(X)", Rules: rules(200_000)}, "to read them takes more than its 64 MB of memory"},
		{logic.Question{Text: "X = [" + strings.Repeat("a,", 500_000) + "b]"}, "to read them takes more than its 64 MB of memory"},
		{logic.Question{Text: "p(X)", Rules: rules(2_000), Limits: logic.Limits{Memory: 1 << 20}}, "to read them takes more than its 1 MB of memory"},
		{logic.Question{Text: "numlist(1, 100000, _L), X = [_L,_L]"}, ""},
		{logic.Question{Text: "numlist(1, 100000, _L), X = [_L,_L,_L,_L,_L,_L,_L,_L]"}, "MB of memory that other questions leave it"},
	} {
		c.q.Language = logic.Prolog
		err := <-asking(t.Context(), l, c.q)
		if c.want == "" && err != nil || c.want != "" && (engram.CodeOf(err) != engram.Exhausted || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.60s: %v, want %q", c.q.Text, err, c.want)
		}
	}
}
