package memories

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/skill"
)

// skills is what the memory Skill does by itself: it says what may be committed, and executes
// what is asked for.
type skills struct {
	types     *skill.Types
	svc       engram.Service // from the Start hook on
	symbols   *symbols       // of the Run hook
	elsewhere *elsewhere
	asked     chan asking // requests of conditions, for the Run hook

	mu        sync.Mutex
	offers    map[string]map[string]*skill.Description // by skill, then provider
	providers map[string]*admitted
}

// admitted is a provider as far as its commits are concerned.
type admitted struct {
	epoch     int64
	fenced    int64 // epochs up to it are not believed any more
	lease     time.Duration
	heard     engram.Time
	inService bool
}

func newSkills() *skills {
	s := &skills{elsewhere: &elsewhere{}, asked: make(chan asking), offers: map[string]map[string]*skill.Description{}, providers: map[string]*admitted{}}
	s.types = skill.NewTypes(func(name string) (*idf.Type, error) {
		if t, ok := Type(name); ok {
			return t, nil
		}
		def, err := s.svc.Type(context.Background(), name)
		if err != nil {
			return nil, err
		}
		return idf.ParseType(def)
	})
	return s
}

// start knows the skills of the log and of earlier epochs before anything is asked for.
func (s *skills) start(ctx context.Context, svc engram.Service) error {
	s.svc = svc
	s.elsewhere.of(svc)
	return each(ctx, s, "Description", func(id engram.ID, d *skill.Description) { s.offer(id, d) })
}

func (s *skills) offer(id engram.ID, d *skill.Description) {
	d.Name = id.Entity()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offers[d.Name] == nil {
		s.offers[d.Name] = map[string]*skill.Description{}
	}
	s.offers[d.Name][id.ProviderSegment()] = d
}

// byExecutor marks the context of what the executor commits.
type byExecutor struct{}

// admit is the memory's Commit hook.
func (s *skills) admit(ctx context.Context, u *engram.EntityUpdate) error {
	id := u.Entity
	if id.Level() != engram.LevelEntity || len(u.Instances) == 0 || ctx.Value(byExecutor{}) == s {
		return nil
	}
	p := u.Instances[0].Payload
	switch id.CoreSegment() {
	case "Description":
		d := new(skill.Description)
		if s.types.Decode(p, d) == nil { // else it is refused, or of an extended type
			s.offer(id, d)
		}
	case "Provider":
		return s.admitProvider(id, p)
	case "Report":
		return s.admitReport(id, p)
	case "Request":
		return s.admitRequest(ctx, id, p)
	case "Execution":
		return s.admitExecution(ctx, id, p)
	case "Transition":
		t := skill.Transition{}
		if err := s.types.Decode(p, &t); err != nil {
			return nil // the memory says what is wrong
		}
		return s.mine(ctx, id, t.Execution)
	case "Call":
		return engram.Errorf(engram.Forbidden, id.String(), "only the memory's executor tells providers what to do; commit a Request")
	}
	return nil
}

// admitProvider refuses a second provider of a name, and runs that are not believed any more.
func (s *skills) admitProvider(id engram.ID, p engram.Payload) error {
	st := skill.ProviderState{}
	if err := s.types.Decode(p, &st); err != nil {
		return nil
	}
	name := id.ProviderSegment()
	if id.Entity() != name {
		return engram.Errorf(engram.Invalid, id.String(), "the entity of a provider is named as its segment: %s", name)
	}
	now := engram.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.providers[name]
	if a == nil {
		a = &admitted{}
		s.providers[name] = a
	}
	switch {
	case st.Epoch <= a.fenced:
		return engram.Errorf(engram.Forbidden, id.String(), "the epoch %d is fenced: the provider did not answer, or was not heard of; begin a new one", st.Epoch)
	case st.Epoch < a.epoch:
		return engram.Errorf(engram.Forbidden, id.String(), "the epoch %d is fenced: a later run of the provider, %d, is in its place", st.Epoch, a.epoch)
	case st.Epoch > a.epoch && a.inService && now < a.heard.Add(a.lease):
		return engram.Errorf(engram.AlreadyExists, id.String(), "another provider of this name lives, in epoch %d; its lease ends in %s", a.epoch, a.heard.Add(a.lease).Sub(now).Round(time.Millisecond))
	}
	a.epoch, a.heard, a.inService, a.lease = st.Epoch, now, st.InService, st.Lease
	if a.lease <= 0 {
		a.lease = skill.DefaultLease
	}
	return nil
}

// admitReport refuses what runs say that are not believed any more.
func (s *skills) admitReport(id engram.ID, p engram.Payload) error {
	r := skill.Report{}
	if err := s.types.Decode(p, &r); err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.providers[id.ProviderSegment()]; a != nil && (r.ProviderEpoch <= a.fenced || r.ProviderEpoch < a.epoch) {
		return engram.Errorf(engram.Forbidden, id.String(), "the epoch %d is fenced: what it says counts for nothing any more", r.ProviderEpoch)
	}
	return nil
}

func (s *skills) fence(provider string, epoch int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.providers[provider]
	if a == nil {
		a = &admitted{}
		s.providers[provider] = a
	}
	a.fenced = max(a.fenced, epoch)
	if a.epoch <= a.fenced {
		a.inService = false
	}
}

// admitRequest refuses requests of skills that nobody knows, or with parameters that do not
// fit, and names that were used.
func (s *skills) admitRequest(ctx context.Context, id engram.ID, p engram.Payload) error {
	r := skill.Request{}
	if err := s.types.Decode(p, &r); err != nil {
		return nil
	}
	if n := len(id.ProviderSegment()) + 1 + len(id.Entity()); n > engram.MaxNameLen {
		return engram.Errorf(engram.Invalid, id.String(), "the names of the segment and the request have %d bytes together; at most %d are allowed", n, engram.MaxNameLen)
	}
	switch {
	case r.Timeout < 0:
		return engram.Errorf(engram.Invalid, "timeout", "%s is less than nothing", r.Timeout)
	case r.CallerLease < 0:
		return engram.Errorf(engram.Invalid, "caller_lease", "%s is less than nothing", r.CallerLease)
	case r.OnCallerGone != "" && r.OnCallerGone != skill.ContinueWhenGone && r.OnCallerGone != skill.AbortWhenGone:
		return engram.Errorf(engram.Invalid, "on_caller_gone", "there is no %q; there are %s and %s", r.OnCallerGone, skill.ContinueWhenGone, skill.AbortWhenGone)
	}
	execution, err := engram.NewID(skill.Memory, "Execution", id.ProviderSegment(), id.Entity())
	if err != nil {
		return err
	}
	if e, ok := s.execution(ctx, execution); ok {
		was := skill.Request{}
		if snap, err := s.svc.Latest(ctx, id); err == nil && s.types.DecodeSnapshot(snap, &was) == nil {
			if same := s.renewal(was, r); same && !e.Status.Ended() || same && r.Timestamp == was.Timestamp {
				return nil
			}
		}
		return engram.Errorf(engram.AlreadyExists, id.String(), "a request of this name was executed (%s); give each a name of its own", e.Status)
	}
	d, err := s.find(r.Skill)
	if err != nil {
		return err
	}
	_, err = s.types.Parameters(d, r.Parameters)
	return err
}

// renewal reports whether two requests differ in their time only.
func (s *skills) renewal(a, b skill.Request) bool {
	a.Timestamp = b.Timestamp
	p, err := s.types.Encode(&a)
	q, err2 := s.types.Encode(&b)
	return err == nil && err2 == nil && bytes.Equal(p.Bytes, q.Bytes)
}

func (s *skills) execution(ctx context.Context, id engram.ID) (*skill.Execution, bool) {
	snap, err := s.svc.Latest(ctx, id)
	e := &skill.Execution{ID: id}
	return e, err == nil && s.types.DecodeSnapshot(snap, e) == nil
}

// find returns a description of a skill, by its name or its provider's and its.
func (s *skills) find(name string) (*skill.Description, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if provider, own, named := strings.Cut(name, "/"); named {
		if d := s.offers[own][provider]; d != nil {
			return d, nil
		}
	}
	of := s.offers[name]
	var best *skill.Description // as the executor chooses: the one that began last, of those in service
	epoch := int64(-1)
	for _, provider := range slices.Sorted(maps.Keys(of)) {
		at := int64(0)
		if a := s.providers[provider]; a != nil && a.inService {
			at = a.epoch
		}
		if at > epoch {
			best, epoch = of[provider], at
		}
	}
	if best != nil {
		return best, nil
	}
	return nil, skill.Unknown(name, slices.Collect(maps.Keys(s.offers)))
}

// admitExecution lets others write executions of their own, as recordings and programs without
// an executor do, and none of what was asked for.
func (s *skills) admitExecution(ctx context.Context, id engram.ID, p engram.Payload) error {
	e := skill.Execution{}
	if err := s.types.Decode(p, &e); err != nil {
		return nil
	}
	if !e.Request.IsRoot() {
		return engram.Errorf(engram.Forbidden, id.String(), "only the memory's executor writes executions of requests; commit a Report of the provider")
	}
	return s.mine(ctx, id, id)
}

// mine refuses what concerns the execution of a request.
func (s *skills) mine(ctx context.Context, id, execution engram.ID) error {
	request, err := engram.NewID(skill.Memory, "Request", execution.ProviderSegment(), execution.Entity())
	if err != nil {
		return nil
	}
	if _, err := s.svc.Latest(ctx, request); err == nil {
		return engram.Errorf(engram.Forbidden, id.String(), "only the memory's executor writes what becomes of the request %s", request)
	}
	return nil
}

// each reads the newest state that the working memory has of each entity of a segment.
func each[R any](ctx context.Context, s *skills, segment string, do func(engram.ID, *R)) error {
	q := engram.PatternOf(engram.MustID(skill.Memory + "/" + segment)).Select(engram.Latest(1))
	q.Target = engram.TargetWM
	result, err := s.svc.Query(ctx, q)
	if err != nil {
		return err
	}
	for item := range result.All() {
		r := new(R)
		if s.types.DecodeSnapshot(item.Snapshot, r) == nil { // an extended type of somebody's own
			do(item.ID.Truncate(engram.LevelEntity), r)
		}
	}
	return nil
}
