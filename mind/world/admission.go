package world

import (
	"cmp"
	"fmt"
	"math"

	"github.com/seed-301d4374/engram/mind/pose"
)

// Provisional reports whether an item is not admitted yet, and why: it was only perceived,
// and was seen too few times, or lies too uncertainly or in a frame that does not exist.
// Plans leave provisional items out.
func (f *Forest) Provisional(name string) (why string, provisional bool, err error) {
	n := f.item(name)
	if n == nil {
		return "", false, notFound(name)
	}
	why = notAdmitted(f, n)
	return why, why != "", nil
}

// notAdmitted says why an item is not admitted yet; "" if it is.
func notAdmitted(f *Forest, n *node) string {
	m, rule := n.merged, f.rules.Admission
	if m.Source > Perception {
		return ""
	}
	if m.Views > 0 && m.Views < rule.Views {
		return fmt.Sprintf("%d of %d views", m.Views, rule.Views)
	}
	if p := m.Placement; p != nil {
		if sigma, known := sigma(&p.Cov); known && rule.MaxSigma > 0 && sigma > rule.MaxSigma {
			return fmt.Sprintf("its position is sure to %.2g m, not %.2g m", sigma, rule.MaxSigma)
		}
		if frame := cmp.Or(p.Frame, m.parent()); frame != "" && !f.aligned(n) {
			return fmt.Sprintf("its frame %q is not there", frame)
		}
	}
	return ""
}

// aligned reports whether a node's frame is there: an item, also as a robot's frame that is one, or
// a bare frame that something else is in, too.
func (f *Forest) aligned(n *node) bool {
	if f.frameOf(n) == none {
		return false
	}
	in := f.in(n)
	if in.merged != nil {
		return true
	}
	others := false
	other := func(k *named) bool {
		others = k.id != n.id && f.exists(k.id)
		return !others
	}
	if in.framed.all(other); !others {
		in.children.all(other)
	}
	return others
}

// sigma returns the greatest standard deviation of a position along an axis, metres.
func sigma(c *pose.Cov) (greatest float64, known bool) {
	const position = 1<<0 | 1<<1 | 1<<2
	if c.Mask&position != position {
		return 0, false
	}
	return math.Sqrt(max(c.At(0, 0), c.At(1, 1), c.At(2, 2))), true
}
