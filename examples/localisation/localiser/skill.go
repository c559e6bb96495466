package localiser

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// Skill is the name of the skill.
const Skill = "LocalizeObjects"

// In is what a request says.
type In struct {
	Classes []string // which objects, by their classes' names or spoken names; all if none is given
	Frame   string   // of the poses; the camera's if it is empty
	Images  int      // how many images to look at; 0 is until it is stopped
}

// Out is what an execution found: the last snapshot of each object.
type Out struct {
	Images  int
	Objects []engram.ID
}

// Offer makes a provider offer the skill: it looks at images as long as an execution runs,
// and at none while nobody asks for it or it is disabled.
func Offer(p *skill.Provider, svc engram.Service, c Config) error {
	if _, err := New(svc, c); err != nil {
		return err
	}
	skill.Handle(p, skill.Spec{
		Name: Skill, Description: "finds known objects in the camera's images and says where they are",
		Defaults: In{Frame: "map"}, Symbolic: map[string]string{"classes": "class"}, StopTimeout: 5 * time.Second, Resumable: true,
	}, func(call *skill.Call, in In) (Out, error) {
		l, err := New(svc, c)
		if err != nil {
			return Out{}, err
		}
		ctx, enough := context.WithCancel(call)
		defer enough()
		var out Out
		newest := map[string]engram.ID{} // by entity
		var before, said string
		err = l.Run(ctx, Task{Classes: in.Classes, Frame: in.Frame}, func(s Seen) {
			names := before
			if s.Time != 0 {
				out.Images++
				var seen []string
				for _, id := range s.Objects {
					newest[id.Entity()] = id
					seen = append(seen, id.Entity())
				}
				slices.Sort(seen)
				names = strings.Join(seen, ", ")
			}
			if text := says(names, s); text != said {
				said = text
				call.Progress(progress(out.Images, in.Images), text)
			}
			if names != before {
				before = names
				call.Intermediate(Out{out.Images, s.Objects})
			}
			if in.Images > 0 && out.Images >= in.Images {
				enough()
			}
		})
		for _, id := range newest {
			out.Objects = append(out.Objects, id)
		}
		slices.SortFunc(out.Objects, engram.ID.Compare)
		switch {
		case call.Err() != nil:
			return out, context.Cause(call)
		case engram.CodeOf(err) == engram.NotFound, engram.CodeOf(err) == engram.Invalid:
			return out, skill.Errorf(skill.CodeParameters, skill.RetryNo, nil, "%v", err)
		}
		return out, err
	})
	return nil
}

func progress(done, all int) float64 {
	if all <= 0 {
		return 0
	}
	return min(float64(done)/float64(all), 1)
}

// says is what a look says: what is seen, or why nothing may be.
func says(names string, s Seen) string {
	waits := ""
	if s.Awaits != "" {
		waits = "waits for " + s.Awaits
	}
	switch {
	case s.Time == 0:
		return waits
	case names == "" && s.Cut > 0:
		names = "only what may be a part of a marker, at the image's border"
	case names == "":
		names = "nothing known"
	}
	if waits != "" {
		waits = "; " + waits
	}
	return "sees " + names + waits
}
