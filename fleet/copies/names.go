package copies

import (
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
)

// ownersName returns the name that a copied memory has at its owner.
func ownersName(memory string) string {
	_, name := engram.SplitName(memory)
	return name
}

// rename returns the pattern with another memory. Its memory selector selects that
// memory already, or all.
func rename(p engram.Pattern, memory string) engram.Pattern {
	levels := append([]engram.NameSelector{engram.OneOf(memory)}, p.Levels[min(1, len(p.Levels)):]...)
	return engram.Pattern{Levels: levels}
}

// renamer translates what an owner tells of one of its memories into the names of the
// copy. Not safe for concurrent use.
type renamer struct {
	owner, holder string // the memory's names
	ids           map[engram.ID]engram.ID
}

func newRenamer(memory string) *renamer {
	return &renamer{owner: ownersName(memory), holder: memory, ids: map[engram.ID]engram.ID{}}
}

// maxRenamed bounds what a renamer remembers.
const maxRenamed = 1 << 16

// id translates the ID of something with names only. The error is Corrupt if it lies
// in another memory.
func (r *renamer) id(id engram.ID) (engram.ID, error) {
	if to, ok := r.ids[id]; ok {
		return to, nil
	}
	if id.Memory() != r.owner || id.Level() > engram.LevelEntity {
		return engram.ID{}, engram.Errorf(engram.Corrupt, id.String(), "the owner of memory %s tells of something else", r.owner)
	}
	to, err := id.InMemory(r.holder)
	if err != nil {
		return engram.ID{}, err
	}
	if len(r.ids) >= maxRenamed {
		clear(r.ids)
	}
	r.ids[id] = to
	return to, nil
}

func (r *renamer) segments(list []contract.Segment) ([]contract.Segment, error) {
	out := slices.Clone(list)
	for i := range out {
		var err error
		if out[i].Core.ID, err = r.id(out[i].Core.ID); err != nil {
			return nil, err
		}
		if out[i].Provider.ID, err = r.id(out[i].Provider.ID); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// changes translates what a batch changes. Removals that do not concern the memory are
// left out.
func (r *renamer) changes(b *contract.Batch) (contract.Changes, error) {
	var c contract.Changes
	for _, removal := range b.Removed {
		m, err := removal.Pattern.Matcher()
		if err != nil {
			return c, err
		}
		if m.Level(engram.LevelMemory).Match(r.owner) {
			removal.Pattern = rename(removal.Pattern, r.holder)
			var besides []engram.ID
			for _, id := range removal.Besides {
				if id.Memory() != r.owner {
					continue
				}
				to, err := r.id(id)
				if err != nil {
					return c, err
				}
				besides = append(besides, to)
			}
			removal.Besides = besides
			c.Removed = append(c.Removed, removal)
		}
	}
	if len(b.Items) > 0 {
		c.Versions = make([]contract.Version, len(b.Items))
	}
	for i, v := range b.Items {
		id, err := r.id(v.Entity)
		if err != nil {
			return c, err
		}
		c.Versions[i] = contract.Version{Entity: id, Snapshot: v.Snapshot}
	}
	return c, nil
}
