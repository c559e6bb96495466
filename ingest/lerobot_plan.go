package ingest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/ltm/episode"
)

// The features that are filled by default.
const (
	featureState  = "observation.state"
	featureAction = "action"
	featureImages = "observation.images."
)

// signalEntity is an entity that a feature is made of.
type signalEntity struct {
	feature     string
	entity      engram.ID
	fields      []string
	first, last engram.Time
}

// kindOf is which of the options a feature comes from.
func kindOf(feature string) string {
	if strings.HasPrefix(feature, featureImages) {
		return "image"
	}
	return strings.TrimPrefix(feature, "observation.")
}

// episodeSource is what the entities of one provider, or of several, give to a data set.
type episodeSource struct {
	name    string
	signals []signalEntity
}

func (s *episodeSource) has(kind string) bool {
	return slices.ContainsFunc(s.signals, func(e signalEntity) bool { return kindOf(e.feature) == kind })
}

// providerOf names a robot's provider, in whatever segment its data are.
func providerOf(id engram.ID) string {
	robot, _, ok := strings.Cut(id.Memory(), ":")
	if !ok {
		robot = ""
	}
	return robot + ":" + id.ProviderSegment()
}

// wanted is which entities make a feature.
type wanted struct {
	kind   string
	signal LeRobotSignal
	only   func(engram.ID) bool // of the defaults; nil is all
}

// wishes returns what is wanted, with the defaults, and of what kinds there must be some.
func (x *leRobotExporter) wishes() (all []wanted, kinds []string) {
	add := func(kind string, chosen []LeRobotSignal, segment string, only func(engram.ID) bool) {
		if chosen == nil {
			all = append(all, wanted{kind, LeRobotSignal{Entities: engram.MustPattern(segment)}, only})
		}
		for _, s := range chosen {
			all = append(all, wanted{kind, s, nil})
		}
		if chosen == nil || len(chosen) > 0 {
			kinds = append(kinds, kind)
		}
	}
	add("state", x.lo.State, "RobotState/Proprioception", func(id engram.ID) bool { return x.lo.Commanded == nil || !x.lo.Commanded(id) })
	add("action", x.lo.Action, "RobotState/Proprioception", func(id engram.ID) bool { return x.lo.Commanded != nil && x.lo.Commanded(id) })
	add("image", x.lo.Images, "Vision/ImageRGB", nil)
	return all, kinds
}

// sources finds out what gives which feature, and by which providers an episode is whole.
func (x *leRobotExporter) sources() ([]episodeSource, error) {
	wishes, kinds := x.wishes()
	byProvider := map[string]*episodeSource{}
	whole := &episodeSource{name: "the memory"}
	for _, w := range wishes {
		spans, err := x.spans(w.signal.Entities)
		if err != nil {
			return nil, err
		}
		for _, id := range slices.SortedFunc(maps.Keys(spans), engram.ID.Compare) {
			if w.only != nil && !w.only(id) {
				continue
			}
			e := signalEntity{feature: map[string]string{"state": featureState, "action": featureAction}[w.kind], entity: id, fields: w.signal.Fields, first: spans[id].Start, last: spans[id].End}
			if w.kind == "image" {
				e.feature = featureImages + cmp.Or(w.signal.Name, imageName(id.Entity()))
			}
			s := byProvider[providerOf(id)]
			if s == nil {
				s = &episodeSource{name: id.ProviderSegment()}
				byProvider[providerOf(id)] = s
			}
			s.signals, whole.signals = append(s.signals, e), append(whole.signals, e)
		}
	}
	for _, kind := range kinds {
		if !whole.has(kind) {
			return nil, engram.Errorf(engram.NotFound, kind, "nothing that is asked for is %s of a data set; name it by --%s ENTITY, or leave it out by --%s none", map[string]string{"state": "the state", "action": "the action", "image": "an image"}[kind], kind, kind)
		}
	}
	if len(whole.signals) == 0 {
		return nil, engram.Errorf(engram.Invalid, x.lr.Path, "a data set of nothing: neither state nor action nor images are asked for")
	}
	var all []episodeSource
	var left []string
	for _, p := range slices.SortedFunc(maps.Keys(byProvider), func(a, b string) int {
		return cmp.Or(cmp.Compare(byProvider[a].signals[0].first, byProvider[b].signals[0].first), strings.Compare(a, b))
	}) {
		s := byProvider[p]
		if i := slices.IndexFunc(kinds, func(k string) bool { return !s.has(k) }); i >= 0 {
			left = append(left, fmt.Sprintf("%s has no %s", s.name, kinds[i]))
			continue
		}
		all = append(all, *s)
	}
	if len(all) == 0 {
		all = []episodeSource{*whole}
	} else {
		for _, l := range left {
			x.lr.Notes = append(x.lr.Notes, "left out: "+l)
		}
	}
	for i := range all {
		all[i].apart()
	}
	return all, nil
}

// apart gives images names of their own where two cameras would have the same.
func (s *episodeSource) apart() {
	count := map[string]int{}
	for _, e := range s.signals {
		count[e.feature]++
	}
	for i, e := range s.signals {
		if kindOf(e.feature) == "image" && count[e.feature] > 1 {
			s.signals[i].feature = featureImages + strings.Trim(strings.NewReplacer("/", "_", " ", "_").Replace(e.entity.Entity()), "_")
		}
	}
}

// spans returns when the entities of a pattern, which the options match too, have their first and last
// snapshots.
func (x *leRobotExporter) spans(p engram.Pattern) (map[engram.ID]engram.Interval, error) {
	x.o.Patterns = []engram.Pattern{p}
	all := map[engram.ID]engram.Interval{}
	note := func(item engram.Item) error {
		id := item.ID.Truncate(engram.LevelEntity)
		if episode.Timeless(item.Time) || !slices.ContainsFunc(x.matchers, func(m *engram.PatternMatcher) bool { return m.Match(id) }) {
			return nil
		}
		iv, ok := all[id]
		if !ok {
			iv = engram.Interval{Start: item.Time, End: item.Time}
		}
		all[id] = engram.Interval{Start: min(iv.Start, item.Time), End: max(iv.End, item.Time)}
		return nil
	}
	if err := x.query(engram.Indices(0, 0), false, note); err != nil {
		return nil, err
	}
	return all, x.query(engram.Latest(1), false, note)
}

// early returns the times of an entity's first thousand snapshots.
func (x *leRobotExporter) early(e *signalEntity) ([]engram.Time, error) {
	x.o.Patterns = []engram.Pattern{engram.PatternOf(e.entity)}
	var times []engram.Time
	err := x.query(engram.Indices(0, 999), false, func(item engram.Item) error {
		times = append(times, item.Time)
		return nil
	})
	slices.Sort(times)
	return times, err
}

// taskWords are in the names of entities that tell tasks.
var taskWords = []string{"task", "instruction", "prompt"}

// taskAt is what is being done from a time on.
type taskAt struct {
	from engram.Time
	text string
}

// tasks returns what is being done in an episode, in the order of time: what the options say, what was told
// on a topic of the source that is named like a task, or the skills that are executed.
func (x *leRobotExporter) tasks(s *episodeSource, span engram.Interval) (all []taskAt, err error) {
	if x.lo.Task != "" {
		return []taskAt{{span.Start, x.lo.Task}}, nil
	}
	sources := map[string]bool{}
	for _, e := range s.signals {
		sources[providerOf(e.entity)] = true
	}
	told := func(item engram.Item) error {
		id := item.ID.Truncate(engram.LevelEntity)
		name := strings.ToLower(id.Entity())
		if !sources[providerOf(id)] || !slices.ContainsFunc(taskWords, func(w string) bool { return strings.Contains(name, w) }) {
			return nil
		}
		text, err := x.member(item, "text")
		if err == nil && strings.TrimSpace(text) != "" {
			all = append(all, taskAt{item.Time, strings.TrimSpace(text)})
		}
		return err
	}
	x.o.Patterns = []engram.Pattern{engram.MustPattern("Speech/Text")}
	for _, sel := range []engram.SnapshotSelector{engram.AtOrBefore(span.Start - 1), engram.In(span)} {
		if err := x.query(sel, true, told); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		all, err = x.skills(span)
	} else {
		slices.SortStableFunc(all, func(a, b taskAt) int { return cmp.Compare(a.from, b.from) })
		all[0].from = min(all[0].from, span.Start) // what is done was clear before it was told
	}
	if err == nil && len(all) == 0 {
		err = engram.Errorf(engram.NotFound, "task", "nothing tells what is being done in the episode of %s at %s: no text of it is called a task, and no skill is executed; say it by --task TEXT", s.name, span.Start)
	}
	return all, err
}

// skills returns which skills are executed when; of several at once the one that began first, since it
// calls the others.
func (x *leRobotExporter) skills(span engram.Interval) (all []taskAt, err error) {
	type state struct {
		Skill      string          `json:"skill"`
		Status     string          `json:"status"`
		Parameters json.RawMessage `json:"parameters"`
	}
	type step struct {
		at      engram.Time
		id      engram.ID
		text    string
		running bool
	}
	var steps []step
	note := func(item engram.Item) error {
		text, err := x.member(item, "")
		if err != nil {
			return err
		}
		var s state
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return engram.Errorf(engram.Corrupt, item.ID.String(), "the execution cannot be read: %w", err)
		}
		steps = append(steps, step{item.Time, item.ID.Truncate(engram.LevelEntity), skillText(s.Skill, s.Parameters), s.Status == "Running" || s.Status == "Stopping"})
		return nil
	}
	x.o.Patterns = []engram.Pattern{engram.MustPattern("Skill/Execution")}
	for _, sel := range []engram.SnapshotSelector{engram.AtOrBefore(span.Start - 1), engram.In(span)} {
		if err := x.query(sel, true, note); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	var running []step
	for _, s := range steps {
		i := slices.IndexFunc(running, func(r step) bool { return r.id == s.id })
		switch {
		case s.running && i < 0:
			running = append(running, s)
		case !s.running && i >= 0:
			running = slices.Delete(running, i, i+1)
		}
		text := ""
		if len(running) > 0 {
			text = running[0].text
		}
		if len(all) == 0 && text == "" || len(all) > 0 && all[len(all)-1].text == text {
			continue
		}
		all = append(all, taskAt{s.at, text})
	}
	return all, nil
}

// skillText says what a skill does, such as "GraspObject(object: cup)".
func skillText(id string, parameters json.RawMessage) string {
	name := id
	if parsed, err := engram.Parse(id); err == nil && parsed.Level() >= engram.LevelEntity {
		name = parsed.Entity()
	}
	var of map[string]any
	if json.Unmarshal(parameters, &of) != nil || len(of) == 0 {
		return name
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s: %v", k, of[k]))
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// member returns a text in a payload by its name; all of it as JSON without one.
func (x *leRobotExporter) member(item engram.Item, name string) (string, error) {
	p := item.Instances[0].Payload
	if _, err := x.typeOf(p.Type); err != nil {
		return "", err
	}
	t, _ := x.types.Get(p.Type)
	v, err := t.JSON(p.Bytes, idf.JSONOptions{SummarizeBytes: 256})
	if err != nil || name == "" {
		return string(v), err
	}
	var of map[string]json.RawMessage
	var text string
	if err := json.Unmarshal(v, &of); err == nil {
		_ = json.Unmarshal(of[name], &text) // what is no text is none
	}
	return text, nil
}
