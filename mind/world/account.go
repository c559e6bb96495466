package world

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/seed-301d4374/engram"
)

// PresentBelief is the probability from which on an item counts as present.
const PresentBelief = 0.5

// Account is what is known at a time of where an item is. String puts it into words.
type Account struct {
	Belief
	Known  bool        // somebody says where it is; else the belief is none
	Time   engram.Time // that was asked for
	Parent string      // "" is none
	There  bool        // the parent exists
	Absent string      // why it does not, such as "anna removed"; "" if it does, or there is none
	Frame  string      // of the pose of an item without a parent; "" if it has none
	Inside bool        // it lies in its parent, a place or a box, and not on it
	Held   bool        // its parent is a robot, of which it is no part
	Source Source      // of the statement at Seen; perception if a sensor saw it then
	// Provisional says why it is not admitted yet; "" if it is.
	Provisional string
}

// Account returns what is known of where the item is, at a time, from looks in any order,
// by the rules of [Forest.Belief] and [Forest.Provisional].
func (f *Forest) Account(name string, at engram.Time, looks []Look) (Account, error) {
	n := f.item(name)
	if n == nil {
		return Account{}, notFound(name)
	}
	return accountOf(f, n, at, looks), nil
}

// AccountOf is [Forest.Account] of an item that the forest has.
func AccountOf(f *Forest, m *Merged, at engram.Time, looks []Look) Account {
	return accountOf(f, f.of(m), at, looks)
}

func accountOf(f *Forest, n *node, at engram.Time, looks []Look) Account {
	a := Account{Time: at, Parent: n.merged.parent()}
	if n.cut[parents] {
		a.Parent = ""
	}
	if p := f.parent(n); p != nil {
		a.There = true
		a.Held = p.merged.Is(KindRobot) && !n.merged.Is(KindComponent)
		a.Inside = p.merged.Is(KindMap) || boxed(n, p)
	}
	if a.Parent != "" && !a.There {
		who, more := absence(f, a.Parent)
		a.Absent = who + more
	}
	if p := n.merged.Placement; p != nil && a.Parent == "" {
		a.Frame = p.Frame
	}
	a.Provisional = notAdmitted(f, n)
	said, when := n.merged.whereabouts()
	if said == nil {
		return a
	}
	a.Belief, a.Known, a.Source = beliefIn(f, n, said, when, at, looks), true, said.Item.Source
	if a.Seen != when.Add(f.rules.Offsets[said.Robot]) {
		a.Source = Perception
	}
	return a
}

// Absence says why there is no item of a name: that nobody has stated it, that nobody states it any more, or who removed
// it and why.
func Absence(f *Forest, name string) string {
	who, more := absence(f, name)
	return who + " it" + more
}

// absence returns what stands before and behind the object of such a sentence.
func absence(f *Forest, name string) (who, more string) {
	s, removed := f.Removed(name)
	switch {
	case removed && s.Item.Removed.Reason != "":
		return s.Who() + " removed", " (" + s.Item.Removed.Reason + ")"
	case removed:
		return s.Who() + " removed", ""
	case len(f.Statements(name)) > 0:
		return "nobody states", " any more"
	}
	return "nobody has stated", ""
}

// boxed reports whether an item's origin lies within the box of another one, below its top.
func boxed(n, in *node) bool {
	if n.root != in.root || in.merged.Description == nil || in.merged.Description.Box == nil {
		return false
	}
	b := in.merged.Description.Box
	at := in.rootFromItem.Mul(b.Pose).Inverse().Apply(n.rootFromItem.T)
	return inside(at, b.Size) && at.Z < b.Size.Z/2-surface
}

// Present reports whether a plan may count on the item being where the forest has it: it is
// admitted, and believed to be there still with a probability of [PresentBelief] or more. An
// item that is not removed and not present is remembered.
func (a *Account) Present() bool {
	return a.Known && a.P >= PresentBelief && a.Provisional == ""
}

// Age returns how long ago it was last seen or stated; less than 0 if that is to come, as of a clock that is ahead.
func (a *Account) Age() time.Duration {
	age := a.Time.Sub(a.Seen)
	if age > -FutureFrom { // clocks are as close
		age = max(age, 0)
	}
	return age
}

// String says it in a sentence, such as "on the table, seen 3 min ago, looked since: once, not
// seen; 0.31".
func (a *Account) String() string {
	where := "by itself"
	switch {
	case a.Parent == "" && a.Frame != "":
		where = "by itself in the frame of " + withArticle(a.Frame)
	case a.Parent == "":
	case !a.There:
		where = "waiting for " + withArticle(a.Parent) + ", which " + a.Absent
	case a.Held:
		where = "held by " + withArticle(a.Parent)
	case a.Inside:
		where = "in " + withArticle(a.Parent)
	default:
		where = "on " + withArticle(a.Parent)
	}
	if !a.Known {
		return where + "; nobody says where"
	}
	seen := "seen " + Ago(a.Age())
	if a.Source > Perception {
		seen = "said " + Ago(a.Age()) + " by " + a.By
	}
	if a.Age() < 0 {
		seen += " (from the future)"
	}
	looked := "not looked for since"
	switch a.Looked {
	case 0:
	case 1:
		looked = "looked since: once, not seen"
	case 2:
		looked = "looked since: twice, not seen"
	default:
		looked = fmt.Sprintf("looked since: %d times, not seen", a.Looked)
	}
	return fmt.Sprintf("%s, %s, %s; %.2f", where, seen, looked, a.P)
}

// withArticle returns a name as it stands in a sentence: proper names have a capital.
func withArticle(name string) string {
	if strings.IndexFunc(name, unicode.IsUpper) == 0 {
		return name
	}
	return "the " + name
}

// Ago says how long ago something was, as people do: "just now", "12 s ago", "3 min ago"; "in 3 min" of what is to come.
func Ago(d time.Duration) string {
	if d <= -FutureFrom {
		return "in " + strings.TrimSuffix(Ago(-max(d, -math.MaxInt64)), " ago")
	}
	round := func(unit time.Duration) int { return int(math.Round(float64(d) / float64(unit))) }
	switch {
	case d < time.Second:
		return "just now"
	case round(time.Second) < 60:
		return strconv.Itoa(round(time.Second)) + " s ago"
	case round(time.Minute) < 60:
		return strconv.Itoa(round(time.Minute)) + " min ago"
	case round(time.Hour) < 48:
		return strconv.Itoa(round(time.Hour)) + " h ago"
	}
	return strconv.Itoa(round(24*time.Hour)) + " days ago"
}
