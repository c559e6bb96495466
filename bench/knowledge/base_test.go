package knowledge

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	questions "github.com/seed-301d4374/engram/mind/knowledge/api"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// house is a server with a world of items on tables, reached over a socket.
func house(b *testing.B, items int) (*world.Memory, logic.Service) {
	svc := serving.New(b, memories.All()...)
	h := serving.Serve(b, svc, nil, rpc.Options{}, serving.Socket(b))
	w, err := world.Over(b.Context(), svc, "eye", world.DefaultRules(), world.FromSource(world.Perception))
	must(b, err)
	b.Cleanup(func() { must(b, w.Close()) })
	var all []world.NamedItem
	put := func(name, parent string, at pose.Pose, size pose.Vec3) {
		all = append(all, world.NamedItem{Name: name, Item: world.Item{
			Structure: &world.Structure{Parent: parent}, Placement: &world.Placement{Frame: parent, Pose: at},
			Description: &world.Description{Kinds: []string{world.KindObject}, Box: &world.Box{Pose: pose.Translation(0, 0, size.Z/2), Size: size}},
		}})
	}
	put("room", "", pose.Identity(), pose.Vec3{X: 200, Y: 200, Z: 3})
	for i := range items / 10 {
		put(fmt.Sprint("table", i), "room", pose.Translation(float64(i%32)*3, float64(i/32)*3, 0), pose.Vec3{X: 1, Y: 1, Z: 0.7})
		for j := range 9 {
			put(fmt.Sprintf("cup%d.%d", i, j), "room", pose.Translation(float64(i%32)*3+float64(j%3-1)*0.3, float64(i/32)*3+float64(j/3-1)*0.3, 0.7), pose.Vec3{X: 0.1, Y: 0.1, Z: 0.1})
		}
	}
	refused, _, err := w.Update(b.Context(), all...)
	must(b, err)
	if len(refused) > 0 {
		b.Fatal(refused)
	}
	return w, questions.NewClient(serving.Dial(b, h.Address, rpc.DialOptions{}))
}

func found(b *testing.B, s logic.Service, q logic.Question) (n int) {
	for _, err := range s.Ask(context.Background(), q) {
		must(b, err)
		n++
	}
	return n
}

var onTable = logic.Question{Text: `?x on <https://engram.dev/world#table0>`}

// An item moves, until the answer to what is on the table has changed: the statement, its news, the
// graph and the question.
func BenchmarkMoveUntilAnswer(b *testing.B) {
	for _, items := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(items), func(b *testing.B) {
			w, s := house(b, items)
			q := onTable
			if n := found(b, s, q); n != 9 {
				b.Fatalf("%d things on the table", n)
			}
			var moving time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				at, want := pose.Translation(1.5, 1.5, 0), 8
				if i%2 == 1 {
					at, want = pose.Translation(-0.3, -0.3, 0.7), 9
				}
				mark, err := w.UpdatePose(context.Background(), "cup0.0", "room", at, pose.Cov{})
				must(b, err)
				moving += time.Since(began)
				q.After = []logic.Mark{logic.Mark(mark)}
				if n := found(b, s, q); n != want {
					b.Fatalf("%d things on the table, want %d", n, want)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/5000, "of-5ms")
			b.ReportMetric(float64(moving.Microseconds())/float64(b.N), "µs-stating/op")
		})
	}
}

// A question at a past time: one that was asked for before, and one that was not, beside the same now.
func BenchmarkPast(b *testing.B) {
	for _, items := range []int{1_000, 10_000} {
		w, s := house(b, items)
		var times []engram.Time
		for i := range 32 {
			_, err := w.UpdatePose(context.Background(), "cup0.0", "room", pose.Translation(1.5, 1.5, float64(i)), pose.Cov{})
			must(b, err)
			times = append(times, engram.Now())
		}
		last, err := w.UpdatePose(context.Background(), "cup0.0", "room", pose.Translation(1.5, 1.5, 0), pose.Cov{})
		must(b, err)
		now := onTable
		now.After = []logic.Mark{logic.Mark(last)}
		var present float64
		for _, kind := range []string{"now", "again", "new"} {
			b.Run(fmt.Sprint(items, "/", kind), func(b *testing.B) {
				at := times[0]
				q := now
				if kind != "now" {
					q.At = &at
				}
				found(b, s, q)
				for i := 0; b.Loop(); i++ {
					if kind == "new" {
						at = times[i%len(times)] + engram.Time(i/len(times)) // no two the same
					}
					if n := found(b, s, q); n != 8 {
						b.Fatalf("%d things on the table", n)
					}
				}
				each := float64(b.Elapsed()) / float64(b.N)
				if kind == "now" {
					present = each
				}
				b.ReportMetric(each/present, "of-now")
			})
		}
	}
}
