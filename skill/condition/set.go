package condition

import (
	"cmp"
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Set commits a condition, in one line:
//
//	c, _ := condition.Parse("on Object/Instance/*/cup where confidence > 0.8 run Grasp with object=$entity")
//	err := condition.Set(ctx, svc, "", "me", "grasp-cup", c)
//
// The memory is "Skill" if it is "". Of two who set a condition of one name the later one counts. The error is
// that of [Condition.Check], or of the commit.
func Set(ctx context.Context, svc engram.Service, memory, by, name string, c *Condition) error {
	entity, err := engram.NewID(cmp.Or(memory, "Skill"), "Condition", by, name)
	if err != nil {
		return err
	}
	def, err := svc.Type(ctx, TypeName)
	if err != nil {
		return err
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return err
	}
	now := engram.Now()
	set := *c
	set.By = by
	b, err := t.Encode(set.Value(now))
	if err != nil {
		return err
	}
	in := engram.NewInstance(engram.Payload{Type: TypeName, Bytes: b})
	results, err := svc.Commit(ctx, engram.Commit{Updates: []engram.EntityUpdate{{Entity: entity, Time: now, Instances: []engram.Instance{in}}}})
	if err != nil {
		return err
	}
	return engram.FirstError(results)
}

// When sets a condition by its text, enabled: [Parse] and [Set].
func When(ctx context.Context, svc engram.Service, by, name, text string) error {
	c, err := Parse(text)
	if err != nil {
		return err
	}
	return Set(ctx, svc, "", by, name, c)
}
