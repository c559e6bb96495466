package copies_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// shown is what of each copy status tells of rules: what stands there, in order.
func shown(t *testing.T, h *copies.Holder) (list []string) {
	t.Helper()
	for _, s := range status(t, h) {
		text := s.Pattern.String()
		switch {
		case s.OfMany():
			text = fmt.Sprintf("%s makes %d", text, s.Made)
		case s.Rule != "":
			text = s.Rule + " > " + text
		}
		list = append(list, text)
	}
	return list
}

func expect(t *testing.T, h *copies.Holder, when string, want ...string) {
	t.Helper()
	if got := shown(t, h); !slices.Equal(got, want) {
		t.Errorf("%s there are\n%q, want\n%q", when, got, want)
	}
}

func add(t *testing.T, h *copies.Holder, text string) {
	t.Helper()
	c, err := copies.Parse(text)
	if err == nil {
		err = h.AddCopy(t.Context(), c)
	}
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func entityOf(robot, entity string) engram.ID {
	return engram.MustID(robot + ":Object/Instance/P/" + entity)
}

func (m *fakeMemory) has(id engram.ID) bool {
	for key := range m.content() {
		if key.entity == id {
			return true
		}
	}
	return false
}

// A copy of every robot's memory begins with the robot, goes on where it was when the
// robot comes back, and ends with the rule that made it.
func TestCopiesOfEveryRobot(t *testing.T) {
	for _, configured := range []bool{false, true} {
		t.Run(fmt.Sprintf("configured=%v", configured), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { copiesOfEveryRobot(t, configured) })
		})
	}
}

func copiesOfEveryRobot(t *testing.T, configured bool) {
	owners, m, dir := &fakeOwners{}, newFakeMemory(true), t.TempDir()
	const text = "*:Object/Instance rate=5"
	var texts []string
	if configured {
		texts = append(texts, text)
	}
	begin := func() *copies.Holder { return open(t, m, owners, dir, texts...) }
	h := begin()
	if !configured {
		add(t, h, text)
	}
	synctest.Wait()
	const rule = "*:Object/Instance"
	expect(t, h, "alone", rule+" makes 0")
	if s := status(t, h)[0]; s.State != contract.StateWaiting || s.Error == "" || s.Configured != configured {
		t.Errorf("alone the rule is %+v", s)
	}

	one, two := newFakeOwner("one"), newFakeOwner("two")
	one.write("cup", 1)
	two.write("can", 1)
	owners.join("base:Object", newFakeOwner("base2")) // the holder's own robot
	owners.join("Object", newFakeOwner("base3"))
	owners.join("robot1:Vision", one)
	owners.join("robot1:Object", one)
	synctest.Wait()
	expect(t, h, "with one", rule+" makes 1", rule+" > robot1:Object/Instance")
	owners.join("robot2:Object", two)
	synctest.Wait()
	expect(t, h, "with two", rule+" makes 2", rule+" > robot1:Object/Instance", rule+" > robot2:Object/Instance")
	if !m.has(entityOf("robot1", "cup")) || !m.has(entityOf("robot2", "can")) {
		t.Errorf("held is %v", m.content())
	}
	if s := status(t, h); s[0].State != contract.StateLive || s[0].Received != 2 || s[2].Rules.MaxRate != 5 || s[2].Configured != configured {
		t.Errorf("with two they are %+v", s)
	}

	// A robot that has left keeps its copy, over a restart, too.
	two.cut(true)
	owners.join("robot2:Object", nil)
	closeHolder(t, h)
	h = begin()
	synctest.Wait()
	expect(t, h, "after a restart", rule+" makes 2", rule+" > robot1:Object/Instance", rule+" > robot2:Object/Instance")
	if s := status(t, h); s[0].State != contract.StateLive || s[2].State != contract.StateWaiting || !m.has(entityOf("robot2", "can")) {
		t.Errorf("with one away they are %+v", s)
	}
	two.write("can", 2)
	two.cut(false)
	owners.join("robot2:Object", two)
	synctest.Wait()
	if s := status(t, h)[2]; s.Received != 1 || s.Had != 0 || s.State != contract.StateLive {
		t.Errorf("when it is back its copy is %+v", s)
	}

	// One robot's copy has rules of its own.
	add(t, h, "robot2:Object/Instance priority=3")
	synctest.Wait()
	expect(t, h, "with one by itself", rule+" makes 1", rule+" > robot1:Object/Instance", "robot2:Object/Instance")
	if s := status(t, h)[2]; s.Rules.Priority != 3 || s.Rules.MaxRate != 0 || s.Configured {
		t.Errorf("by itself it is %+v", s)
	}
	refused := func(pattern string) {
		t.Helper()
		if err := h.RemoveCopy(t.Context(), pattern, true); engram.CodeOf(err) != engram.Conflict {
			t.Errorf("removing %s: %v, want Conflict", pattern, err)
		}
	}
	refused("robot1:Object/Instance")
	if configured {
		refused(rule)
		// Not configured any more it makes nothing, and what was added stays.
		closeHolder(t, h)
		texts = nil
		h = begin()
		defer closeHolder(t, h)
		synctest.Wait()
		expect(t, h, "when it is not configured", "robot2:Object/Instance")
		return
	}
	defer func() { closeHolder(t, h) }()
	add(t, h, rule+" max-bytes=1KB")
	synctest.Wait()
	if s := status(t, h); s[0].Rules.MaxBytes != 1000 || s[1].Rules.MaxBytes != 1000 || s[1].Rules.MaxRate != 0 || s[2].Rules.MaxBytes != 0 {
		t.Errorf("with other rules they are %+v", s)
	}
	if err := h.RemoveCopy(t.Context(), "robot2:Object/Instance", false); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	expect(t, h, "without it", rule+" makes 2", rule+" > robot1:Object/Instance", rule+" > robot2:Object/Instance")
	if err := h.RemoveCopy(t.Context(), rule, true); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	expect(t, h, "in the end")
	if left := m.content(); len(left) > 0 {
		t.Errorf("%v is held still", left)
	}
	if err := h.RemoveCopy(t.Context(), rule, true); engram.CodeOf(err) != engram.NotFound {
		t.Errorf("removing it again: %v, want NotFound", err)
	}
	closeHolder(t, h)
	h = begin()
	synctest.Wait()
	expect(t, h, "in the next epoch")
}

// However many robots there are, what a holder holds is bounded, and told.
func TestRuleMakesNoMoreThanThereIsRoomFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners, m := &fakeOwners{}, newFakeMemory(false)
		for i := range copies.MaxCopies + 5 {
			owners.join(fmt.Sprintf("robot%04d:Object", i), nil) // known, but never there
			owners.robots[fmt.Sprintf("robot%04d:Object", i)] = newFakeOwner(fmt.Sprint(i))
			owners.robots[fmt.Sprintf("robot%04d:Object", i)].away = true
		}
		h := open(t, m, owners, "", "*:Object")
		defer closeHolder(t, h)
		synctest.Wait()
		list := status(t, h)
		if s := list[0]; s.Made != copies.MaxCopies-1 || s.State != contract.StateFailed || s.Error == "" {
			t.Errorf("the rule made %d copies and is %s: %s", s.Made, s.State, s.Error)
		}
		c, _ := copies.Parse("Vision")
		if err := h.AddCopy(t.Context(), c); engram.CodeOf(err) != engram.Exhausted {
			t.Errorf("adding one more: %v", err)
		}
	})
}

// What a pattern of several memories means is fetched of all that are copied.
func TestFetchOfEveryRobot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners, m := &fakeOwners{}, newFakeMemory(false)
		for _, robot := range []string{"robot1", "robot2"} {
			o := newFakeOwner(robot)
			o.write("cup", 1)
			owners.join(robot+":Object", o)
		}
		h := open(t, m, owners, "", "*:Object where='confidence > 2'")
		defer closeHolder(t, h)
		synctest.Wait()
		got, err := h.Fetch(t.Context(), contract.Fetching{Patterns: []engram.Pattern{engram.MustPattern("*:Object/Instance/P/cup")}})
		if err != nil || got.Versions+got.Had != 2 {
			t.Errorf("fetched %+v, %v", got, err)
		}
		if _, err := h.Fetch(t.Context(), contract.Fetching{Patterns: []engram.Pattern{engram.MustPattern("*:Speech")}}); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("fetching what is not copied: %v", err)
		}
	})
}

// A copy of one robot that becomes one of every robot goes on where it was, and back.
func TestRuleTakesUpWhatWasConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("one"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		o.write("cup", 1)
		owners.join("robot1:Object", o)
		for i, text := range []string{"robot1:Object", "*:Object rate=3", "robot1:Object"} {
			h := open(t, m, owners, dir, text)
			synctest.Wait()
			list := status(t, h)
			s := list[len(list)-1]
			if first := i == 0; s.Pattern.String() != "robot1:Object" || s.State != contract.StateLive || (s.Received > 0) != first || (s.Rule != "") != (i == 1) {
				t.Errorf("as %s the copy is %+v", text, s)
			}
			closeHolder(t, h)
		}
	})
}

// A rule that was added and is then configured ends with the configuration.
func TestRuleThatIsConfiguredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners, m, dir := &fakeOwners{}, newFakeMemory(true), t.TempDir()
		owners.join("robot1:Object", newFakeOwner("one"))
		for i, configured := range [][]string{nil, {"*:Object rate=3", "robot2:Object"}, nil} {
			h := open(t, m, owners, dir, configured...)
			if i == 0 {
				add(t, h, "*:Object")
				add(t, h, "robot2:Object")
			}
			synctest.Wait()
			if i < 2 {
				expect(t, h, "at first", "*:Object makes 1", "*:Object > robot1:Object", "robot2:Object")
			} else {
				expect(t, h, "in the end")
			}
			closeHolder(t, h)
		}
	})
}

// A rule that makes nothing says why.
func TestRuleSaysWhyItMakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners := &fakeOwners{unknown: engram.Errorf(engram.Unavailable, "", "the names are away")}
		h := open(t, newFakeMemory(false), owners, "")
		defer closeHolder(t, h)
		add(t, h, "robot1:Object")
		add(t, h, "*:Object")
		says := func(when, want string) {
			t.Helper()
			owners.join("robot1:Vision", newFakeOwner("one")) // it looks again
			synctest.Wait()
			if s := status(t, h)[0]; s.Made != 0 || s.State != contract.StateWaiting || !strings.Contains(s.Error, want) {
				t.Errorf("%s the rule is %+v; want it to say %q", when, s, want)
			}
		}
		says("without names", "the names are away")
		owners.mu.Lock()
		owners.unknown = nil
		owners.mu.Unlock()
		says("alone", "no other robot")
		owners.join("robot1:Object", newFakeOwner("one"))
		says("with what is copied already", "copied already")
	})
}

// Of two rules the first makes a copy; when it is removed the copy goes on by the other.
func TestCopyGoesOnByAnotherRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m, dir := newFakeOwner("one"), &fakeOwners{}, newFakeMemory(true), t.TempDir()
		o.write("cup", 1)
		owners.join("robot1:Object", o)
		owners.join("base2:Object", newFakeOwner("two"))
		h := open(t, m, owners, dir, "~robot.*:Object rate=7")
		add(t, h, "*:Object rate=3")
		synctest.Wait()
		add(t, h, "base2:Object") // by itself
		const rule, other = "*:Object", "~robot.*:Object"
		if err := h.RemoveCopy(t.Context(), rule, true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, when := range []string{"then", "in the next epoch"} {
			expect(t, h, when, other+" makes 1", other+" > robot1:Object", "base2:Object")
			if s := status(t, h)[1]; s.Rules.MaxRate != 7 || !s.Configured || s.Had != 0 || !m.has(entityOf("robot1", "cup")) {
				t.Errorf("%s it is %+v, and held is %v", when, s, m.content())
			}
			closeHolder(t, h)
			h = open(t, m, owners, dir, "~robot.*:Object rate=7")
			synctest.Wait()
		}
		closeHolder(t, h)
	})
}

// A copy of a robot that is gone can be removed, and makes room; one of a robot that is
// there cannot.
func TestCopyOfARobotThatIsGoneIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, owners, m := newFakeOwner("one"), &fakeOwners{}, newFakeMemory(false)
		o.write("cup", 1)
		owners.join("robot1:Object", o)
		h := open(t, m, owners, "", "*:Object")
		defer closeHolder(t, h)
		synctest.Wait()
		if err := h.RemoveCopy(t.Context(), "robot1:Object", true); engram.CodeOf(err) != engram.Conflict {
			t.Errorf("while the robot is there: %v", err)
		}
		owners.join("robot1:Object", nil)
		synctest.Wait()
		if err := h.RemoveCopy(t.Context(), "robot1:Object", true); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		expect(t, h, "without the robot", "*:Object makes 0")
		owners.join("robot1:Object", o)
		synctest.Wait()
		expect(t, h, "when it is back", "*:Object makes 1", "*:Object > robot1:Object")
		if !m.has(entityOf("robot1", "cup")) {
			t.Errorf("held is %v", m.content())
		}
	})
}

// What was copied of a robot is not copied any more by a server that is that robot's now.
func TestHolderBecomesTheRobots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owners, m, dir := &fakeOwners{}, newFakeMemory(true), t.TempDir()
		for _, robot := range []string{"robot1", "robot2"} {
			owners.join(robot+":Object", newFakeOwner(robot))
		}
		o := copies.Options{Memory: m, Owners: owners, Server: "base", Dir: dir, Log: testkit.Quiet, Configured: []contract.Copy{parse(t, "*:Object")}}
		for _, robot := range []string{"base", "robot1", "base"} {
			o.Robot = robot
			h, err := copies.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"*:Object makes 2", "*:Object > robot1:Object", "*:Object > robot2:Object", "robot1:Object/Instance"}
			if robot == "robot1" {
				want = []string{"*:Object makes 1", "*:Object > robot2:Object"}
			} else {
				add(t, h, "robot1:Object/Instance")
			}
			synctest.Wait()
			expect(t, h, "as "+robot, want...)
			closeHolder(t, h)
		}
	})
}
