package attack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	knowledge "github.com/seed-301d4374/engram/mind/knowledge/api"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

// mostQuestions is what a server takes with all questions that are answered at once: what they hold, as much garbage, and
// the server itself.
const mostQuestions = 768 << 20

// greedy are questions that take all that they get.
var greedy = []string{
	"numlist(1, 3000000, L)", "length(L, 3000000)", "grow(1, L)", "findall(X, between(1, inf, X), L)", "double(ab, A)", "stack(1)",
	"repeat, numlist(1, 50000, _L), msort(_L, _M), fail", "between(1, inf, N), assertz(f(N)), fail", "X is 2 ** 1000000, Y is X ** 100",
	"length(_L, 100000), maplist(=(abcdefghij), _L), atomic_list_concat(_L, _A), length(M, 10000), maplist(=(_A), M)",
}

const greedyRules = "grow(N, [N|T]) :- M is N + 1, grow(M, T).\nstack(N) :- M is N + 1, stack(M), stack(M).\ndouble(A, C) :- atom_concat(A, A, B), double(B, C).\n"

func asked(text string) logic.Question {
	return logic.Question{Language: logic.Prolog, Text: text, Rules: []logic.Rules{{Name: "greedy.pl", Text: greedyRules}}}
}

// questions returns who answers questions at the server.
func (v *victim) questions(t *testing.T) logic.Service {
	t.Helper()
	c, err := rpc.Dial(t.Context(), v.server, rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return knowledge.NewClient(c)
}

// ask returns how a question ends.
func ask(ctx context.Context, s logic.Service, q logic.Question) (err error) {
	for _, err = range s.Ask(ctx, q) {
	}
	return err
}

// Questions that take all that they get, sixteen at once, end with an error, and leave the server within its
// memory.
func TestGreedyQuestions(t *testing.T) {
	testkit.Long(t)
	v := begin(t)
	b := v.bystander(t)
	var asking sync.WaitGroup
	for i := range 16 {
		s := v.questions(t)
		asking.Go(func() {
			for j := range 3 {
				text := greedy[(i+7*j)%len(greedy)]
				q := asked(text)
				q.Limits.Time = *lasting * 4
				switch err := ask(t.Context(), s, q); engram.CodeOf(err) {
				case engram.Exhausted:
				case engram.Invalid:
					if !strings.Contains(text, "**") {
						t.Errorf("%s: %v", text, err)
					}
				default:
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
	asking.Wait()
	if err := ask(t.Context(), v.questions(t), asked("numlist(1, 100000, _L), length(_L, N)")); err != nil {
		t.Errorf("a question afterwards: %v", err)
	}
	b.check(t, v, mostQuestions)
}

// Beside sixteen questions that do not end others read as fast as before, nearly; one more question is told how many
// wait before it, and is answered in the end.
func TestEndlessQuestions(t *testing.T) {
	testkit.RealTime(t, "a median read takes as long as the machine needs for it, not for what runs beside it")
	v := begin(t)
	b := v.bystander(t)
	reader := v.dial(t, "local")
	latency := func() time.Duration {
		t.Helper()
		var all []time.Duration
		for begun := time.Now(); time.Since(begun) < *lasting/4 || len(all) < 50; {
			start := time.Now()
			if _, err := reader.Latest(t.Context(), b.id); err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Since(start))
			time.Sleep(time.Millisecond) // as a program that reads now and then
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	s := v.questions(t)
	if err := ask(t.Context(), s, asked("X = 1")); err != nil {
		t.Fatal(err)
	}
	alone := latency()
	endless, stop := context.WithCancel(t.Context())
	defer stop()
	var asking sync.WaitGroup
	var begun [16]chan struct{}
	for i := range begun {
		begun[i] = make(chan struct{})
		s := v.questions(t)
		asking.Go(func() {
			first := sync.OnceFunc(func() { close(begun[i]) })
			for range s.Ask(endless, asked("X = 1 ; between(1, inf, X), X < 0")) {
				first()
			}
			first()
		})
	}
	for i := range begun {
		<-begun[i]
	}
	beside := latency()
	t.Logf("the median read takes %v alone, %v beside 16 questions", alone, beside)
	// Before questions took turns it was thirty times as long.
	if beside > 3*alone+2*time.Millisecond {
		t.Errorf("the median read takes %v beside endless questions, %v alone", beside, alone)
	}
	var told []int
	ended := make(chan error, 1)
	waits := make(chan struct{})
	q := asked("X = 1")
	q.Waits = func(before int) {
		if told = append(told, before); len(told) == 1 {
			close(waits)
		}
	}
	go func() { ended <- ask(t.Context(), s, q) }()
	<-waits
	stop()
	if err := <-ended; err != nil || fmt.Sprint(told) != "[0]" {
		t.Errorf("one more question was told of %v before it, and ends with %v", told, err)
	}
	asking.Wait()
	v.lives(t)
}
