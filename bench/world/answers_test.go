package world

import (
	"fmt"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/memories"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/view"
)

// BenchmarkAnswers measures answers about a house with 100 items to a room, without a process that prints them: those of a
// forest in this process, and the same from a server in another one.
func BenchmarkAnswers(b *testing.B) {
	for _, items := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(items), func(b *testing.B) {
			c, err := client.Connect(b.Context(), client.Options{Address: serveElsewhere(b, "").address})
			must(b, err)
			b.Cleanup(func() { must(b, c.Close()) })
			m := over(b, c)
			stateHouse(b, m, items)
			answers := view.Of(m)
			tree := func(s answer.Service) func() error {
				return func() error {
					rows := 0
					err := s.Tree(b.Context(), answer.Question{}, answer.Tree{}, func(part []answer.Row) error {
						rows += len(part)
						return nil
					})
					if err == nil && rows != items {
						err = fmt.Errorf("%d rows", rows)
					}
					return err
				}
			}
			for _, q := range []struct {
				name string
				ask  func() error
			}{
				{"tree", tree(answers)},
				{"tree of a server", tree(c.World())},
				{"misspelt", func() error {
					err := answers.Tree(b.Context(), answer.Question{}, answer.Tree{Item: "tihng500"}, nil)
					if engram.CodeOf(err) == engram.NotFound {
						return nil
					}
					return fmt.Errorf("the name is found: %w", err)
				}},
			} {
				b.Run(q.name, func(b *testing.B) {
					defer cpu(b)()
					for b.Loop() {
						must(b, q.ask())
					}
				})
			}
		})
	}
}

// stateHouse states a house with so many items, 100 to a room.
func stateHouse(b *testing.B, m *world.Memory, items int) {
	rooms := items / 100
	all := []world.NamedItem{{Name: "house", Item: world.Item{Structure: &world.Structure{}, Description: &world.Description{Kinds: []string{world.KindMap}}}}}
	for i := range rooms {
		all = append(all, world.NamedItem{Name: fmt.Sprint("room", i), Item: *item("house", pose.Translation(5*float64(i), 0, 0), world.KindMap)})
	}
	for i := len(all); i < items; i++ {
		all = append(all, world.NamedItem{Name: fmt.Sprint("thing", i), Item: *item(fmt.Sprint("room", i%rooms), pose.Translation(float64(i%50)/10, float64(i%47)/10, 1), world.KindObject)})
	}
	refused, mark, err := m.Update(b.Context(), all...)
	must(b, err)
	if len(refused) > 0 {
		b.Fatal(refused[0])
	}
	_, err = m.View(b.Context(), mark)
	must(b, err)
}

// BenchmarkLooks measures what looks of sensors cost a question: to read them from the memory, and a tree of 1,000 items with
// them, each of which is compared with each.
func BenchmarkLooks(b *testing.B) {
	for _, looks := range []int{0, 1_000} {
		b.Run(fmt.Sprint(looks), func(b *testing.B) {
			srv := serving.New(b, memories.World())
			m := over(b, srv)
			stateHouse(b, m, 1_000)
			codec, err := world.NewCodec(b.Context(), srv)
			must(b, err)
			for i := range looks {
				p, err := codec.EncodeLook(&world.Look{
					Frame: fmt.Sprint("room", i%10), Pose: pose.Translation(0, 0, 1), Seen: []string{fmt.Sprint("thing", 100+i%50)},
					View: world.View{Horizontal: 1, Vertical: 1, MaxRange: 3}, LookedFor: world.LookedFor{Kinds: []string{world.KindObject}},
				})
				must(b, err)
				u := engram.EntityUpdate{Entity: engram.MustID(fmt.Sprint("World/Observation/rover/camera", i%10)), Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(p)}}
				r, err := srv.Commit(b.Context(), engram.Commit{Updates: []engram.EntityUpdate{u}})
				must(b, err)
				must(b, engram.FirstError(r))
			}
			b.Run("read", func(b *testing.B) {
				defer cpu(b)()
				for b.Loop() {
					all, err := m.Looks(b.Context(), engram.Interval{Start: engram.MinTime, End: engram.MaxTime}, nil)
					if must(b, err); len(all) != looks {
						b.Fatal(len(all))
					}
				}
			})
			b.Run("tree", func(b *testing.B) {
				answers := view.Of(m)
				defer cpu(b)()
				for b.Loop() {
					must(b, answers.Tree(b.Context(), answer.Question{}, answer.Tree{}, func([]answer.Row) error { return nil }))
				}
			})
		})
	}
}
