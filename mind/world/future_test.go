package world_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// What counts and was said to be of the future is found, by the clock of the world's own robot.
func TestFromFuture(t *testing.T) {
	const now = engram.Time(1e18)
	for name, test := range map[string]struct {
		said   time.Duration // from now, by the clock of who says it
		offset time.Duration // that corrects it
		by     time.Duration // 0 is not of the future
	}{
		"past":                  {-time.Minute, 0, 0},
		"now":                   {0, 0, 0},
		"a moment ahead":        {time.Second, 0, 0},
		"ahead":                 {25 * time.Second, 0, 25 * time.Second},
		"ahead, and corrected":  {25 * time.Second, -25 * time.Second, 0},
		"behind, and corrected": {-5 * time.Second, 30 * time.Second, 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			rules := world.DefaultRules()
			rules.Offsets = map[string]time.Duration{"robot3": test.offset}
			b := world.NewBuilder(rules)
			said := world.Said{Provider: "eye", Robot: "robot3", Time: now.Add(test.said)}
			if err := b.Put(world.Statement{Name: "cup", Said: said, Item: &world.Item{Structure: &world.Structure{Parent: "table"}}}); err != nil {
				t.Fatal(err)
			}
			old := world.Said{Provider: "plan", Time: now.Add(-time.Hour)}
			if err := b.Put(world.Statement{Name: "cup", Said: old, Item: &world.Item{Description: &world.Description{Kinds: []string{"object"}}}}); err != nil {
				t.Fatal(err)
			}
			s, by := world.FromFuture(b.Forest(), "cup", now)
			if by != test.by || (s != nil) != (test.by > 0) || s != nil && s.Robot != "robot3" {
				t.Errorf("%v ahead, by %+v", by, s)
			}
		})
	}
	value := 0.5
	ahead := world.Said{Provider: "eye", Robot: "robot3", Time: now.Add(25 * time.Second)}
	joint := func(j world.Articulation) world.JointStatement {
		j.Moved = "cup"
		return world.JointStatement{Name: "hinge", Said: ahead, Joint: &j}
	}
	described := joint(world.Articulation{Base: "table", Kind: world.Revolute, Pose: pose.Identity()})
	described.Provider, described.Time = "plan", now.Add(-time.Hour)
	for name, say := range map[string]func(b *world.Builder) error{
		"a removal": func(b *world.Builder) error {
			return b.Put(world.Statement{Name: "cup", Said: ahead, Item: &world.Item{Removed: &world.Removal{}}})
		},
		"a state": func(b *world.Builder) error {
			return b.PutState(world.StateStatement{Said: ahead, State: &world.State{Item: "cup", Name: "full", Value: true}})
		},
		"a joint": func(b *world.Builder) error {
			return b.PutJoint(joint(world.Articulation{Base: "table", Kind: world.Revolute, Pose: pose.Identity()}))
		},
		"a value": func(b *world.Builder) error {
			return errors.Join(b.PutJoint(described), b.PutJoint(joint(world.Articulation{Value: &value})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := world.NewBuilder(world.DefaultRules())
			cup := world.Statement{Name: "cup", Said: world.Said{Provider: "plan", Time: now.Add(-time.Hour)}, Item: &world.Item{Structure: &world.Structure{Parent: "table"}}}
			if err := errors.Join(b.Put(cup), say(b)); err != nil {
				t.Fatal(err)
			}
			if s, by := world.FromFuture(b.Forest(), "cup", now); s == nil || s.Robot != "robot3" || by != 25*time.Second {
				t.Errorf("%v ahead, by %+v", by, s)
			}
		})
	}
	if s, _ := world.FromFuture(world.NewBuilder(world.DefaultRules()).Forest(), "cup", now); s != nil {
		t.Error("something is said of nothing")
	}
}
