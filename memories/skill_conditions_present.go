package memories

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/internal/posevalue"
	"github.com/seed-301d4374/engram/knowledge/computed"
	"github.com/seed-301d4374/engram/knowledge/service"
	"github.com/seed-301d4374/engram/pose"
	poseservice "github.com/seed-301d4374/engram/pose/service"
	"github.com/seed-301d4374/engram/skill/condition"
	"github.com/seed-301d4374/engram/world"
)

// conditionPresent is what is so at present in the memories of a server, and in those of others as far as they are
// followed. It implements [condition.Present]. One goroutine uses it.
type conditionPresent struct {
	svc       engram.Service
	elsewhere *elsewhere
	answers   service.Service
	types     map[string]*idf.Type
	mark      world.Mark    // of what was written last of the world
	forest    *world.Forest // that scene is of
	scene     *computed.Scene

	// What was heard last, and up to which number of the own server's: what is asked for between two
	// updates is answered as it was then.
	heardTo uint64
	own     map[engram.ID]engram.Item
	far     map[engram.ID]engram.Item // all that is followed at other servers
	asks    bool                      // other servers are asked, not followed
}

// worldWait is how long a clause waits for the world to have what was just written.
const worldWait = time.Second

// maxHeard bounds how many entities of the own server it is remembered of what was heard last.
const maxHeard = 1 << 16

func newConditionPresent(svc engram.Service, far *elsewhere, answers service.Service) *conditionPresent {
	return &conditionPresent{svc: svc, elsewhere: far, answers: answers, types: map[string]*idf.Type{},
		own: map[engram.ID]engram.Item{}, far: map[engram.ID]engram.Item{}}
}

// Present returns what is so at present in the memories that a service reaches, for conditions that are not those of
// a server; for one, those of package sense.
func Present(svc engram.Service) condition.Present {
	p := newConditionPresent(svc, &elsewhere{}, nil)
	if k, ok := svc.(interface{ Knowledge() service.Service }); ok {
		p.answers = k.Knowledge()
	}
	return p
}

// heard takes notice of an update. The world must have it before it is asked.
func (p *conditionPresent) heard(u engram.Update, epoch uint64) {
	segment := u.ID.Memory() + "/" + u.ID.CoreSegment()
	here := u.Snapshot == nil || u.Snapshot.Number != 0
	if segment == "World/Item" || segment == "Object/Instance" || segment == "Object/Attachments" {
		if here == p.elsewhere.has("World") {
			p.mark = world.Mark{Epoch: epoch, Number: u.Number}
		}
	}
	known := p.own
	if here {
		p.heardTo = max(p.heardTo, u.Number)
		if len(known) >= maxHeard {
			clear(known)
		}
	} else {
		known = p.far
	}
	if u.Snapshot == nil {
		return
	}
	entity := u.ID.Truncate(engram.LevelEntity)
	if was, ok := known[entity]; !ok || was.Snapshot.Time <= u.Snapshot.Time {
		known[entity] = engram.Item{ID: u.ID, Snapshot: u.Snapshot}
	}
}

// anew has what was heard of the own server count no more: all is read again.
func (p *conditionPresent) anew() {
	clear(p.own)
	p.heardTo = p.number()
}

// number returns the number of the own server's newest update.
func (p *conditionPresent) number() uint64 {
	if s, ok := p.svc.(interface{ Number() uint64 }); ok {
		return s.Number()
	}
	return 0
}

// farAnew puts what there is at other servers in the place of what was heard of them.
func (p *conditionPresent) farAnew(all []engram.Item) {
	clear(p.far)
	for _, it := range all {
		p.far[it.ID.Truncate(engram.LevelEntity)] = it
	}
}

// Newest implements [condition.Present].
func (p *conditionPresent) Newest(ctx context.Context, of engram.Pattern) ([]engram.Item, error) {
	own, far := p.elsewhere.split([]engram.Pattern{of})
	var items []engram.Item
	if len(own) > 0 {
		r, err := p.svc.Query(ctx, own[0].Select(engram.Latest(1)))
		if err != nil {
			return nil, err
		}
		for it := range r.All() {
			if p.heardTo > 0 && it.Snapshot.Number > p.heardTo {
				var ok bool
				if it, ok = p.before(ctx, it); !ok {
					continue
				}
			}
			items = append(items, it)
		}
	}
	switch {
	case len(far) == 0:
	case p.asks && len(own) == 0:
		wait, cancel := context.WithTimeout(ctx, elsewhereWait)
		defer cancel()
		svc, err := p.elsewhere.service(wait)
		if err != nil {
			return nil, err
		}
		r, err := svc.Query(wait, far[0].Select(engram.Latest(1)))
		if err != nil {
			return nil, err
		}
		items = append(items, r.Items()...)
	case !p.asks:
		m, err := far[0].Matcher()
		if err != nil {
			return nil, err
		}
		for entity, it := range p.far {
			if m.Match(entity) {
				items = append(items, it)
			}
		}
	}
	return items, nil
}

// before returns what was the newest of an entity when the last update was heard; false if it was not there.
func (p *conditionPresent) before(ctx context.Context, it engram.Item) (engram.Item, bool) {
	entity := it.ID.Truncate(engram.LevelEntity)
	if was, ok := p.own[entity]; ok {
		return was, true
	}
	const most = 16 // written since
	for range most {
		s, err := p.svc.AtOrBefore(ctx, entity, it.Snapshot.Time-1)
		if err != nil {
			break
		}
		if it = (engram.Item{ID: entity.At(s.Time), Snapshot: s}); s.Number <= p.heardTo {
			return it, true
		}
	}
	return it, false
}

// Type implements [condition.Present].
func (p *conditionPresent) Type(ctx context.Context, name string) *idf.Type {
	if t := p.types[name]; t != nil {
		return t
	}
	def, err := p.svc.Type(ctx, name)
	if far := p.elsewhere.known(); err != nil && far != nil {
		wait, cancel := context.WithTimeout(ctx, elsewhereWait)
		defer cancel()
		def, err = far.Type(wait, name)
	}
	if err != nil {
		return nil
	}
	t, err := idf.ParseType(def)
	if err != nil {
		return nil
	}
	p.types[name] = t
	return t
}

// Requested implements [condition.Present].
func (p *conditionPresent) Requested(ctx context.Context, name string) (made, ended bool, err error) {
	request, err := engram.MustID(condition.RequestSegment).Child(name)
	if err != nil {
		return false, false, err
	}
	if _, err := p.svc.Latest(ctx, request); engram.CodeOf(err) == engram.NotFound {
		return false, false, nil
	} else if err != nil {
		return false, false, err
	}
	execution, err := engram.NewID("Skill", "Execution", request.ProviderSegment(), name)
	if err != nil {
		return true, false, err
	}
	s, err := p.svc.Latest(ctx, execution)
	if engram.CodeOf(err) == engram.NotFound {
		return true, false, nil
	}
	if err != nil {
		return true, false, err
	}
	t := p.Type(ctx, s.Instances[0].Payload.Type)
	if t == nil {
		return true, false, nil
	}
	v, err := t.Decode(s.Instances[0].Payload.Bytes)
	if err != nil {
		return true, false, err
	}
	return true, condition.HasEnded(v), nil
}

// Requests implements [condition.Present].
func (p *conditionPresent) Requests(ctx context.Context, begin string) (names []string, err error) {
	of := engram.MustPattern(condition.RequestSegment)
	of.Levels = append(of.Levels, engram.MatchRegex("(?s:"+regexp.QuoteMeta(begin)+".*)"))
	q := of.Select(engram.Latest(1))
	q.WithoutPayload = true
	r, err := p.svc.Query(ctx, q)
	if err != nil {
		return nil, err
	}
	for it := range r.All() {
		names = append(names, it.ID.Entity())
	}
	return names, nil
}

// view returns the world with what was written last.
func (p *conditionPresent) view(ctx context.Context) (*world.Forest, error) {
	w, err := p.elsewhere.worldOf(ctx, p.svc)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, worldWait)
	defer cancel()
	f, err := w.View(waiting, p.mark)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return w.View(ctx)
	}
	return f, err
}

// Items implements [condition.World].
func (p *conditionPresent) Items(ctx context.Context, selected string) (names []string, err error) {
	f, err := p.view(ctx)
	if err != nil {
		return nil, err
	}
	kind, ofKind := strings.CutPrefix(selected, "kind:")
	class, ofClass := strings.CutPrefix(selected, "class:")
	expr, ofNames := strings.CutPrefix(selected, "~")
	switch {
	case ofKind:
		for m := range f.ByKind(kind) {
			names = append(names, m.Name)
		}
	case ofClass:
		for m := range f.ByClass(class) {
			names = append(names, m.Name)
		}
	case ofNames || selected == "*":
		matcher, err := engram.MatchRegex(cmp.Or(expr, ".*")).Matcher()
		if err != nil {
			return nil, err
		}
		for m := range f.All() {
			if matcher.Match(m.Name) {
				names = append(names, m.Name)
			}
		}
	case f.Has(selected):
		names = []string{selected}
	}
	return names, nil
}

// Related implements [condition.World]: the item's parent says so, or their boxes do.
func (p *conditionPresent) Related(ctx context.Context, item, relation, other string) (bool, error) {
	f, err := p.view(ctx)
	if err != nil {
		return false, err
	}
	if !f.Has(item) || !f.Has(other) {
		return false, nil
	}
	path, err := f.PathToRoot(item)
	if err != nil {
		return false, err
	}
	for i, m := range path {
		if i == 0 || m.Name != other {
			continue
		}
		if relation == "in" && i > 1 { // in something that is in it
			return true, nil
		}
		if i == 1 {
			a, err := f.Account(item, engram.Now(), nil)
			if err != nil {
				return false, err
			}
			if !a.Held && a.Inside == (relation == "in") {
				return true, nil
			}
		}
	}
	if p.forest != f {
		name := func(item string) string { return item }
		if p.scene == nil {
			p.scene = computed.FromForest(f, computed.DefaultRules(), name)
		} else {
			p.scene = p.scene.Follow(f)
		}
		p.forest = f
	}
	r := computed.On
	if relation == "in" {
		r = computed.In
	}
	_, holds := p.scene.Holds(r, item, other)
	return holds, nil
}

// ItemDistance implements [condition.World].
func (p *conditionPresent) ItemDistance(ctx context.Context, item, other string) (float64, error) {
	at, err := p.locate(ctx, other, item)
	if err != nil {
		return 0, err
	}
	return at.T.Norm(), nil
}

// Distance implements [condition.World]: of members pose and frame_id, or position.
func (p *conditionPresent) Distance(ctx context.Context, t *idf.Type, payload []byte, other string) (float64, error) {
	if t == nil {
		return 0, engram.Errorf(engram.NotFound, "", "the payload's type is not known, and so not where it is")
	}
	v, err := t.Decode(payload)
	if err != nil {
		return 0, err
	}
	m, _ := v.(map[string]any)
	in, ok := posevalue.Of(m["pose"])
	if !ok {
		if in, ok = posevalue.Of(map[string]any{"position": m["position"], "orientation": map[string]any{"w": 1.0}}); !ok || m["position"] == nil {
			return 0, engram.Errorf(engram.NotFound, t.Name(), "a payload without pose and position says not where it is")
		}
	}
	frame, _ := m["frame_id"].(string)
	at, err := p.locate(ctx, other, frame)
	if err != nil {
		return 0, err
	}
	return at.Mul(in).T.Norm(), nil
}

// locate returns the pose of an item or frame in another one, from the world or from the poses.
func (p *conditionPresent) locate(ctx context.Context, target, source string) (pose.Pose, error) {
	if target == source {
		return pose.Identity(), nil
	}
	f, err := p.view(ctx)
	if err == nil {
		if at, err := f.Pose(target, source); err == nil {
			return at.Pose, nil
		}
	}
	poses := p.poses(ctx)
	if poses == nil {
		return pose.Pose{}, engram.Errorf(engram.NotFound, source, "it is not known where it is from %s", target)
	}
	answers, err := poses.LookUp(ctx, []poseservice.Question{{Target: target, Source: source, When: poseservice.LatestCommon}})
	if err == nil {
		err = answers[0].Err
	}
	if err != nil {
		return pose.Pose{}, engram.Errorf(engram.CodeOf(err), source, "it is not known where it is from %s: %w", target, err)
	}
	return answers[0].Pose, nil
}

// poses returns who keeps the robot's poses; nil if nobody does.
func (p *conditionPresent) poses(ctx context.Context) poseservice.Service {
	const memory = "RobotState"
	svc, err := p.elsewhere.place(ctx, p.svc, memory)
	if err != nil {
		return nil
	}
	switch svc := svc.(type) {
	case interface{ Poses() poseservice.Service }:
		return svc.Poses()
	case interface {
		Poses(memory string) poseservice.Service
	}:
		return svc.Poses(memory)
	}
	return nil
}

// Ask implements [condition.World].
func (p *conditionPresent) Ask(ctx context.Context, question string) (bool, error) {
	answers := p.answers
	if !p.elsewhere.has("Knowledge") {
		wait, cancel := context.WithTimeout(ctx, worldWait)
		defer cancel()
		if far, err := p.elsewhere.service(wait); err == nil {
			if k, ok := far.(interface{ Knowledge() service.Service }); ok {
				ctx, answers = wait, k.Knowledge()
			}
		}
	}
	if answers == nil {
		return false, engram.Errorf(engram.Unsupported, "", "the server has no memory Knowledge")
	}
	q := service.Question{Language: service.Pattern, Text: question, Rows: 1}
	if p.mark.Number > 0 {
		q.After = []service.Mark{service.Mark(p.mark)}
	}
	for _, err := range answers.Ask(ctx, q) {
		if err != nil {
			return false, err
		}
		return true, nil
	}
	return false, nil
}
