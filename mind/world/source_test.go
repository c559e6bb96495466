package world_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// Nothing is stated without a word on where it comes from: not as perception by chance.
func TestSourceIsNeverChosenSilently(t *testing.T) {
	type writer func(k kit, w world.Model, name string, s world.Source) error
	update := func(what func(*world.Item)) writer {
		return func(k kit, w world.Model, name string, s world.Source) error {
			it := world.Item{Source: s}
			what(&it)
			refused, _, err := w.Update(k.ctx, world.NamedItem{Name: name, Item: it})
			if len(refused) > 0 {
				err = refused[0].Err
			}
			return err
		}
	}
	// Those that cannot say where it comes from ask what was stated of the item before, and the world.
	alone := func(f func(k kit, w world.Model, name string) error) writer {
		return func(k kit, w world.Model, name string, s world.Source) error {
			if s != world.SourceUnset {
				if refused, _, err := w.Update(k.ctx, world.NamedItem{Name: name, Item: world.Item{Description: &world.Description{}, Source: s}}); err != nil || len(refused) > 0 {
					k.Fatal(refused, err)
				}
			}
			return f(k, w, name)
		}
	}
	one := 1.0
	writers := map[string]writer{
		"structure":   update(func(it *world.Item) { it.Structure = &world.Structure{Parent: "table"} }),
		"placement":   update(func(it *world.Item) { it.Placement = &world.Placement{Frame: "table", Pose: pose.Identity()} }),
		"description": update(func(it *world.Item) { it.Description = &world.Description{Label: "my cup"} }),
		"nothing":     update(func(*world.Item) {}),
		"pose": alone(func(k kit, w world.Model, name string) error {
			_, err := w.UpdatePose(k.ctx, name, "table", pose.Identity(), pose.Cov{})
			return err
		}),
		"attach": alone(func(k kit, w world.Model, name string) error {
			_, err := w.Attach(k.ctx, name, "table", &pose.Pose{R: pose.Identity().R})
			return err
		}),
		"removal": alone(func(k kit, w world.Model, name string) error {
			_, err := w.Remove(k.ctx, name, "", world.OrphanChildren)
			return err
		}),
		"joint": func(k kit, w world.Model, name string, s world.Source) error {
			_, err := w.Articulate(k.ctx, name+"/slide", world.Articulation{Base: "table", Moved: name, Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Source: s})
			return err
		},
		"value": func(k kit, w world.Model, _ string, s world.Source) error {
			_, err := w.Articulate(k.ctx, "table/joint", world.Articulation{Value: &one, Source: s})
			return err
		},
		"state": func(k kit, w world.Model, name string, s world.Source) error {
			_, err := w.SetState(k.ctx, world.State{Item: name, Name: "full", Value: true, Source: s}, 1)
			return err
		},
	}
	for _, by := range []string{"local", "memory", "switch"} {
		for what, write := range writers {
			for s, given := range map[world.Source]world.Source{
				world.SourceUnset: world.SourceUnset, world.Perception: world.SourceUnset, world.PriorKnowledge: world.SourceUnset,
				world.Operator: world.SourceUnset, world.SourceUnset + 100: world.Operator, // none in the call, and the world has one
			} {
				t.Run(by+" "+what+" "+s.String()+" "+given.String(), func(t *testing.T) {
					if s > world.Operator {
						s = world.SourceUnset
					}
					k := kit{t, nil, testkit.Context(t)}
					plain := func(m world.Model, err error) world.Model {
						if err != nil {
							t.Fatal(err)
						}
						return m
					}
					var w world.Model
					switch by {
					case "memory":
						svc := newServer(t)
						k.Model = over(t, svc, "other")
						m, err := world.Over(k.ctx, svc, "me", world.DefaultRules(), world.FromSource(given))
						w = plain(m, err)
						t.Cleanup(func() { m.Close() })
					default:
						w = world.NewLocal("me", world.DefaultRules(), world.FromSource(given))
						if by == "switch" {
							w = world.NewSwitch(w)
						}
						k.Model = w
					}
					mark := k.put(item("table", "", 0, "object"), item("cup", "table", 1, "object"), item("slat", "table", 1, "object"))
					joined, err := k.Articulate(k.ctx, "table/joint", world.Articulation{Base: "table", Moved: "slat", Kind: world.Prismatic, Pose: pose.Identity(), Direction: pose.Vec3{X: 1}, Source: world.PriorKnowledge})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := w.View(k.ctx, mark, joined); err != nil {
						t.Fatal(err)
					}
					err = write(k, w, "cup", s)
					// In a world of one, the item was stated with a source before.
					stated := by != "memory" && (what == "pose" || what == "attach" || what == "removal")
					if s == world.SourceUnset && given == world.SourceUnset && !stated {
						k.code("unset", err, engram.Invalid)
					} else if err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// What is on the wire without a source was perceived, as it always meant; what somebody said of its
// source comes back.
func TestSourcesOnTheWire(t *testing.T) {
	c := newCodec(t)
	for s, want := range map[world.Source]world.Source{
		world.SourceUnset: world.Perception, world.Perception: world.Perception, world.PriorKnowledge: world.PriorKnowledge, world.Operator: world.Operator,
	} {
		p, err := c.EncodeItem(&world.Item{Source: s, Structure: &world.Structure{}})
		got, err2 := c.Statement(engram.MustID("World/Item/p/cup"), snapshot(p))
		if err != nil || err2 != nil || got.Item.Source != want {
			t.Errorf("an item of %v is read as of %v, %v, %v", s, got.Item.Source, err, err2)
		}
	}
	old := engram.Payload{Type: "engram.world.Item", Bytes: []byte{0x0a, 0}} // a structure, and no source
	if got, err := c.Statement(engram.MustID("World/Item/p/cup"), snapshot(old)); err != nil || got.Item.Source != world.Perception || got.Item.Structure == nil {
		t.Errorf("%+v, %v", got.Item, err)
	}
}
