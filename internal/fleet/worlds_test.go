//go:build linux

package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/netlab"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
)

// worlds are four robots around a base station, each with a memory World, copies of the others'
// and a view of all.
type worlds struct {
	*testing.T
	ctx   context.Context
	base  *Server
	radio [4]*netlab.Radio
	srv   [4]*Server
	at    [4]*world.Memory // nil while the robot is not there
	close [4]func()
	now   atomic.Int64 // the true time
	rules world.Rules
}

func robotName(i int) string { return fmt.Sprint("robot", i+1) }

// skews are how far the robots' clocks are ahead of the true time.
var skews = [4]time.Duration{0, 10 * time.Second, -10 * time.Second, 5 * time.Second}

// fourWorlds lays robots and base station out, and starts the base station.
func fourWorlds(t *testing.T, copies ...string) *worlds {
	w := &worlds{T: t, rules: world.DefaultRules()}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.Background(), 20*time.Minute)
	t.Cleanup(cancel)
	lab, err := netlab.New(t.TempDir())
	if errors.Is(err, engram.Unsupported) {
		t.Skip(err)
	}
	w.must(err)
	t.Cleanup(func() {
		for i := range w.srv {
			w.leave(i, (*Server).Kill)
		}
		if w.base != nil {
			w.base.Kill()
		}
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	})
	host, err := lab.Host("base")
	w.must(err)
	w.base = NewServer(host, built(t), "--robot", "base", "--backbone", "embedded", "--leaf-listen", fmt.Sprintf("0.0.0.0:%d", portLeaf), "--memory", "SystemState")
	for i := range w.srv {
		robot, err := lab.Host(fmt.Sprint("r", i+1))
		w.must(err)
		w.radio[i], err = lab.Radio(host, robot)
		w.must(err)
		w.srv[i] = NewServer(robot, built(t), "--robot", robotName(i), "--backbone", "embedded",
			"--leaf-of", fmt.Sprintf("nats-leaf://%s:%d", host.Address, portLeaf),
			"--memory", "World", "--memory", "SystemState", "--clock-offset", skews[i].String())
		for _, text := range copies {
			w.srv[i].Args = append(w.srv[i].Args, "--copy", text)
		}
	}
	w.must(w.base.Start(w.ctx))
	return w
}

func (w *worlds) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// join starts a robot, and its view of the world.
func (w *worlds) join(i int) {
	w.Helper()
	err := w.srv[i].Start(w.ctx)
	for tries := 0; err != nil && tries < 20; tries++ { // the backbone may not have noticed that it was killed
		time.Sleep(500 * time.Millisecond)
		err = w.srv[i].Start(w.ctx)
	}
	w.must(err)
	c, err := w.srv[i].Client(w.ctx)
	w.must(err)
	clock := func() engram.Time { return engram.Time(w.now.Load()).Add(skews[i]) }
	w.at[i], err = world.Over(w.ctx, c, "plan", w.rules, world.Robots("*"), world.Clock(clock), world.FromSource(world.Perception))
	w.must(err)
	w.close[i] = func() {
		w.at[i].Close()
		c.Close()
	}
}

// leave ends a robot's server, if it is there, and its view.
func (w *worlds) leave(i int, end func(*Server)) {
	if w.at[i] == nil {
		return
	}
	w.close[i]()
	w.at[i] = nil
	end(w.srv[i])
}

// stated is what a robot says of an item, by a model that knows nothing of memories: each group
// with the true time at which it was said, 0 if it is not said.
type stated struct {
	parent                              string
	frame                               string
	x                                   float64
	kind                                string
	structured, placed, described, gone int64
}

func (s *stated) newest() int64 { return max(s.structured, s.placed, s.described) }

// model is what each robot says of each item.
type model [4]map[string]*stated

func (m *model) of(robot int, name string) *stated {
	if m[robot][name] == nil {
		m[robot][name] = &stated{}
	}
	return m[robot][name]
}

// merged is an item of the model: of each group what was said last by those who said anything
// since the item was removed; of a robot's place and parent what it says itself.
func (m *model) merged(name string) (it stated, exists bool) {
	var removed int64
	for _, says := range m {
		if s := says[name]; s != nil {
			removed = max(removed, s.gone)
		}
	}
	isRobot := false
	var live [4]*stated
	for i, says := range m {
		if s := says[name]; s != nil && s.newest() > removed {
			live[i], exists = s, true
			isRobot = isRobot || s.kind == world.KindRobot
		}
	}
	for i, s := range live {
		if s == nil {
			continue
		}
		own := !isRobot || robotName(i) == name
		if own && s.structured > it.structured {
			it.parent, it.structured = s.parent, s.structured
		}
		if own && s.placed > it.placed {
			it.frame, it.x, it.placed = s.frame, s.x, s.placed
		}
		if s.described > it.described {
			it.kind, it.described = s.kind, s.described
		}
	}
	return it, exists
}

// text is the model's forest.
func (m *model) text(names []string) string {
	all := map[string]stated{}
	for _, name := range names {
		if it, exists := m.merged(name); exists {
			all[name] = it
		}
	}
	// Of each loop the newest edge does not count.
	cut := map[string]bool{}
	for name := range all {
		var loop []string
		for at := name; ; {
			loop = append(loop, at)
			it, exists := all[at]
			if !exists || it.structured == 0 || it.parent == "" || len(loop) > len(all) {
				break
			}
			if at = it.parent; at == name {
				cut[slices.MaxFunc(loop, func(a, b string) int {
					return cmp.Or(cmp.Compare(all[a].structured, all[b].structured), strings.Compare(a, b))
				})] = true
				break
			}
		}
	}
	var lines []string
	for name, it := range all {
		parent := it.parent
		if _, exists := all[parent]; !exists || cut[name] {
			parent = ""
		}
		lines = append(lines, line(name, it.kind, it.parent, parent, it.frame, it.x, it.placed != 0))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func line(name, kind, stated, parent, frame string, x float64, placed bool) string {
	at := "nowhere"
	if placed {
		at = fmt.Sprintf("%g in %s", x, frame)
	}
	return fmt.Sprintf("%s %s of %q (%q), %s", name, kind, parent, stated, at)
}

// text is a view's forest.
func text(f *world.Forest) string {
	var lines []string
	for m := range f.All() {
		var kind, stated, parent, frame string
		var x float64
		if m.Description != nil {
			kind = strings.Join(m.Description.Kinds, " ")
		}
		if m.Structure != nil {
			stated = m.Structure.Parent
		}
		if path, err := f.PathToRoot(m.Name); err == nil && len(path) > 1 {
			parent = path[1].Name
		}
		if m.Placement != nil {
			frame, x = m.Placement.Frame, m.Placement.Pose.T.X
		}
		lines = append(lines, line(m.Name, kind, stated, parent, frame, x, m.Placement != nil))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// scenario is a random one.
type scenario struct {
	*worlds
	*rand.Rand
	model
	names []string
	marks [4]world.Mark // of the last write in the robot's present epoch
	count map[string]int
}

func (s *scenario) name() string { return s.names[s.IntN(len(s.names))] }

// step has a robot do something, and the model, too. It reports whether the robot could.
func (s *scenario) step(robot int) bool {
	s.Helper()
	now := s.now.Add(int64(200 * time.Millisecond))
	w, name, x := s.at[robot], s.name(), float64(s.IntN(1000))
	here, err := w.View(s.ctx)
	s.must(err)
	m := s.of(robot, name)
	parent := s.name()
	var mark world.Mark
	what := ""
	switch n := s.IntN(100); {
	case !here.Has(name) && n < 60:
		what = "add"
		if m.gone != 0 {
			what = "come back"
		}
		kind := world.KindObject
		switch {
		case strings.HasSuffix(name, "/camera"):
			kind = world.KindComponent
		case strings.HasPrefix(name, "robot"):
			kind = world.KindRobot
		}
		var refused []world.Refusal
		refused, mark, err = w.Update(s.ctx, world.NamedItem{Name: name, Item: world.Item{
			Structure: &world.Structure{Parent: parent}, Placement: &world.Placement{Frame: parent, Pose: pose.Translation(x, 0, 0)},
			Description: &world.Description{Kinds: []string{kind}},
		}})
		if err == nil && len(refused) > 0 {
			err = refused[0].Err
		}
		if err == nil {
			*m = stated{parent: parent, frame: parent, x: x, kind: kind, structured: now, placed: now, described: now, gone: m.gone}
		}
	case n < 40:
		what = "move"
		if mark, err = w.UpdatePose(s.ctx, name, parent, pose.Translation(x, 0, 0), pose.Cov{}); err == nil {
			s.revive(m)
			m.frame, m.x, m.placed = parent, x, now
		}
	case n < 75:
		what = "re-parent"
		at := pose.Translation(x, 0, 0)
		if mark, err = w.Attach(s.ctx, name, parent, &at); err == nil {
			s.revive(m)
			m.parent, m.structured = parent, now
			m.frame, m.x, m.placed = parent, x, now
		}
	case n < 90:
		what = "remove"
		if mark, err = w.Remove(s.ctx, name, "", world.WithChildren); err == nil {
			after, err := w.View(s.ctx, mark)
			s.must(err)
			for _, gone := range s.names { // what was below it then
				for _, by := range after.Statements(gone) {
					if r := by.Item.Removed; by.Robot == robotName(robot) && r != nil && r.Time.Add(-skews[robot]) >= engram.Time(now) {
						*s.of(robot, gone) = stated{gone: now}
					}
				}
			}
		}
	default:
		what = "withdraw"
		if mark, err = w.Withdraw(s.ctx, name); err == nil {
			*m = stated{}
		}
	}
	switch engram.CodeOf(err) {
	case 0:
		s.count[what]++
		s.marks[robot] = mark
	case engram.NotFound, engram.Conflict, engram.Invalid: // of what is not there, and of loops
		return false
	default:
		s.Fatalf("%s %s at %s: %v", what, name, robotName(robot), err)
	}
	return true
}

// revive forgets what was said before a removal: who says something again says only that.
func (s *scenario) revive(m *stated) {
	if m.gone != 0 && m.newest() <= m.gone {
		*m = stated{gone: m.gone}
	}
}

// Four robots with copies of each other's worlds, whose clocks are 10 s apart: they join and
// leave, links are cut, and meanwhile things are added, moved, given other parents, removed and
// come back at all of them. When the links are back, who holds the marks of the last writes
// sees the same world at each of them, which is the model's. 10,000 operations with -long.
func TestFourWorlds(t *testing.T) {
	testkit.RealTime(t, "four servers and links whose ends notice a cut keep up, and clocks are measured within a minute")
	testWorlds(t, testkit.Repeats(500, 10_000), testkit.Repeats(6, 40), "*:World")
}

// The same where nobody holds copies: worlds are read from their owners.
func TestFourWorldsWithoutCopies(t *testing.T) {
	testkit.RealTime(t, "four servers and links whose ends notice a cut keep up, and clocks are measured within a minute")
	testWorlds(t, testkit.Repeats(200, 2000), testkit.Repeats(4, 20))
}

func testWorlds(t *testing.T, operations, phases int, copies ...string) {
	seed := testkit.Seed(t)
	s := &scenario{worlds: fourWorlds(t, copies...), Rand: rand.New(rand.NewPCG(seed, 0)), count: map[string]int{}}
	for i := range s.model {
		s.model[i] = map[string]*stated{}
	}
	for i := range 56 {
		s.names = append(s.names, fmt.Sprint("item", i))
	}
	for i := range 4 {
		s.names = append(s.names, robotName(i), robotName(i)+"/camera")
	}
	began := engram.Now().Add(-time.Hour)
	s.now.Store(int64(began))
	for i := range 3 { // the fourth joins later
		s.join(i)
	}
	cut := [4]bool{}
	for phase := range phases {
		for range operations / phases {
			for !s.step(s.there()) {
			}
		}
		switch i := s.IntN(4); {
		case s.at[i] == nil || phase == phases/2 && s.at[3] == nil:
			if s.at[i] != nil {
				i = 3
			}
			s.join(i)
		case s.IntN(4) == 0 && s.present() > 2:
			if s.IntN(2) == 0 {
				s.leave(i, func(srv *Server) { srv.Stop() })
			} else {
				time.Sleep(time.Second) // then what was written is in the log
				s.leave(i, (*Server).Kill)
			}
			s.marks[i] = world.Mark{}
			s.count["left"]++
		default:
			cut[i] = !cut[i]
			s.radio[i].Set(netlab.Condition{Cut: cut[i]})
			s.count["cut or mended"]++
		}
		time.Sleep(time.Duration(s.IntN(3000)) * time.Millisecond)
	}
	for i := range s.at {
		s.radio[i].Set(netlab.Condition{})
		if s.at[i] == nil {
			s.join(i)
		}
	}
	var marks []world.Mark
	for i := range s.at { // each says something in its present epoch
		for !s.step(i) {
		}
		marks = append(marks, s.marks[i])
	}
	want := s.model.text(s.names)
	mended := time.Now()
	for i, w := range s.at {
		ctx, cancel := context.WithTimeout(s.ctx, 2*time.Minute)
		f, err := w.View(ctx, marks...)
		cancel()
		if err != nil {
			t.Fatalf("%s: %v", robotName(i), err)
		}
		got := text(f)
		for began := time.Now(); got != want && time.Since(began) < time.Minute; { // until clocks were measured
			time.Sleep(100 * time.Millisecond)
			f, err = w.View(s.ctx)
			s.must(err)
			got = text(f)
		}
		if got != want {
			t.Errorf("at %s there is\n%s\nand by the model\n%s", robotName(i), without(got, want), without(want, got))
		}
	}
	t.Logf("%d items; equal %v after the links were back; %v", strings.Count(want, "\n")+1, time.Since(mended).Round(time.Millisecond), s.count)
}

// without returns the lines of a text that another one lacks.
func without(text, other string) string {
	has := strings.Split(other, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return slices.Contains(has, l) }), "\n")
}

func (s *scenario) present() (n int) {
	for _, w := range s.at {
		if w != nil {
			n++
		}
	}
	return n
}

func (s *scenario) there() int {
	for {
		if i := s.IntN(4); s.at[i] != nil {
			return i
		}
	}
}

// Who holds the mark of a write at one robot never sees the state before it at another one, which
// reads a copy: it waits, and is told where the copy cannot have it. What was there before a
// cut does not travel again after it.
func TestMarksOfOtherRobots(t *testing.T) {
	testkit.RealTime(t, "both ends notice a cut within 8 s, and a change needs seconds at most")
	w := fourWorlds(t, "*:World")
	w.join(0)
	w.join(1)
	writer, reader := w.at[0], w.at[1]
	w.now.Store(int64(engram.Now()))
	const things = 3000
	var items []world.NamedItem
	for i := range things {
		items = append(items, world.NamedItem{Name: fmt.Sprint("thing", i), Item: world.Item{
			Structure: &world.Structure{Parent: "room"}, Placement: &world.Placement{Pose: pose.Translation(float64(i), 0, 0)},
			Description: &world.Description{Kinds: []string{world.KindObject}, Label: "a thing with a long label, so that it weighs something"},
		}})
	}
	_, mark, err := writer.Update(w.ctx, append(items, world.NamedItem{Name: "room", Item: world.Item{Structure: &world.Structure{}}})...)
	w.must(err)
	see := func(within time.Duration, mark world.Mark, thing string, x float64) error {
		t.Helper()
		ctx, cancel := context.WithTimeout(w.ctx, within)
		defer cancel()
		f, err := reader.View(ctx, mark)
		if err != nil {
			return err
		}
		m, err := f.Get(thing)
		if err != nil || m.Placement.Pose.T.X != x || m.Placement.Frame != "" && m.Placement.Frame != m.Structure.Parent {
			t.Fatalf("after the mark, of %s: %+v, %v", thing, m, err)
		}
		return nil
	}
	w.must(see(time.Minute, mark, "thing7", 7))
	const patience = 30 * time.Second
	began := time.Now()
	for i := range 200 {
		at := pose.Translation(float64(i), 0, 0)
		mark, err := writer.Attach(w.ctx, "thing7", fmt.Sprint("thing", 10+i%2), &at)
		w.must(err)
		w.must(see(patience, mark, "thing7", at.T.X))
	}
	t.Logf("a mark of another robot is reached after %v", time.Since(began)/200)

	// The same for who types: each command is a process of its own.
	for i, room := range []string{"thing12", "room"} {
		out, err := w.srv[0].Engram(w.ctx, "world", "mv", "thing8", room, "-o", "json")
		w.must(err)
		var wrote []struct{ Mark string }
		w.must(json.Unmarshal([]byte(out), &wrote))
		out, err = w.srv[1].Engram(w.ctx, "world", "get", "thing8", "--robots", "*", "--after", wrote[0].Mark)
		if w.must(err); !strings.Contains(out, room) {
			t.Errorf("%d: thing8 was given the parent %s; the other robot says\n%s", i, room, out)
		}
	}

	carried := func() (bytes int64) {
		for _, back := range []bool{false, true} {
			_, n := w.radio[1].Carried(back)
			bytes += n
		}
		return bytes
	}
	w.radio[1].Set(netlab.Condition{Cut: true})
	at := pose.Translation(1000, 0, 0)
	mark, err = writer.Attach(w.ctx, "thing7", "room", &at)
	w.must(err)
	if err := see(time.Second, mark, "thing7", 1000); engram.CodeOf(err) != engram.TooNew {
		t.Errorf("over a cut link: %v", err)
	}
	time.Sleep(8 * time.Second) // until both ends have noticed
	before := carried()
	w.radio[1].Set(netlab.Condition{})
	mended := time.Now()
	w.must(see(time.Minute, mark, "thing7", 1000))
	bytes, took := carried()-before, time.Since(mended)
	t.Logf("%d bytes in %v after the cut, with one change of %d things", bytes, took, things)
	if limit := int64(100_000 + 10_000*took.Seconds()); bytes > limit {
		t.Errorf("one change needed %d bytes on the link after the cut, of at most %d: what was there before travels again", bytes, limit)
	}
}

// The poses of a robot have the items that others state, as far as it holds copies of what they say.
func TestItemsOfOtherRobotsArePoses(t *testing.T) {
	testkit.RealTime(t, "the servers of a fleet start and hear each other within a minute")
	w := fourWorlds(t, "*:World")
	for i := range 2 {
		w.srv[i].Args = append(w.srv[i].Args, "--memory", "RobotState")
		w.join(i)
	}
	w.now.Store(int64(engram.Now()))
	is := func(target, source string, x float64) {
		t.Helper()
		testkit.Until(t, func() (string, bool) {
			out, err := w.srv[0].Engram(w.ctx, "pose", "lookup", target, source, "-o", "json")
			var at []struct{ Translation [3]float64 }
			if err == nil {
				err = json.Unmarshal([]byte(out), &at)
			}
			return fmt.Sprint(out, err), err == nil && len(at) > 0 && at[0].Translation[0] == x
		})
	}
	in := func(parent, frame string, x float64) world.Item {
		return world.Item{Structure: &world.Structure{Parent: parent}, Placement: &world.Placement{Frame: frame, Pose: pose.Translation(x, 0, 0)}}
	}
	put := func(robot int, name string, it world.Item) {
		t.Helper()
		_, _, err := w.at[robot].Update(w.ctx, world.NamedItem{Name: name, Item: it})
		w.must(err)
	}
	put(0, "room", world.Item{Structure: &world.Structure{}})
	put(0, "table", in("room", "", 2))
	put(1, "cup", in("table", "", 0.5))
	is("room", "cup", 2.5)
	w.now.Add(int64(time.Second))
	put(1, "table", in("room", "", 30)) // later than what the other says
	is("room", "cup", 30.5)
	// What both call map are two frames.
	put(0, "plant", in("", "map", 1))
	put(1, "lamp", in("", "map", 1))
	put(1, "shade", in("lamp", "", 1))
	is("lamp", "shade", 1)
	is("robot2/map", "shade", 2)
	if out, err := w.srv[0].Engram(w.ctx, "pose", "lookup", "plant", "lamp"); err == nil {
		t.Errorf("maps that nobody aligned are one: %s", out)
	}
}
