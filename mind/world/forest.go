package world

import (
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Forest is what the statements that a [Builder] had come to. It is immutable and safe for
// concurrent use, and costs what differs from the forest before it. Items that it returns
// must not be changed. Unknown names give NotFound.
type Forest struct {
	graph
	rules Rules
	size  int // items

	roots   set[*named]
	awaited set[*named] // what does not exist and has children
	noted   set[*named] // what has a note
	tags    set[tag]
	space   set[cell]
	jointed set[hung] // what joints move, by their names

	maps       shelf[MapStatement]
	components shelf[ComponentStatement]
}

// graph is the nodes of a forest, and how they hang together.
type graph struct {
	names *nameTable // a name keeps its index, so all forests of a builder share them
	pages []*page
}

// node returns the node with the index, or nil.
func (f *graph) node(id int32) *node {
	if id < 0 || int(id) >= len(f.pages)*pageSize {
		return nil
	}
	return f.pages[id/pageSize].nodes[id%pageSize]
}

// item returns the node of an item that exists, or nil.
func (f *graph) item(name string) *node {
	if n := f.any(name); n != nil && n.merged != nil {
		return n
	}
	return nil
}

// of returns the node of an item that exists, or nil. What this forest has merged needs no search for its name.
func (f *graph) of(m *Merged) *node {
	if n := f.node(m.id); n != nil && n.merged == m {
		return n
	}
	return f.item(m.Name)
}

// frame returns the node of a frame that there is, or nil: an item, a bare frame, or that of the
// only robot that has one of the name.
func (f *graph) frame(name string) *node {
	n := f.any(name)
	if n == nil || n.merged != nil {
		return n
	}
	if of := f.framesOf(n); len(of) == 1 && f.joins(n.id) {
		return of[0]
	}
	return nil
}

// framesOf returns the bare frames of a name: of each robot that has one, and of who has no name.
func (f *graph) framesOf(n *node) (of []*node) {
	own := !n.children.empty()
	n.framed.all(func(k *named) bool {
		c := f.node(k.id)
		switch {
		case c.merged != nil:
			own = true
		case !c.framed.empty():
			of = append(of, c)
		}
		return true
	})
	if own {
		of = append(of, n)
	}
	return of
}

// noFrame is the error for what is no frame, or one of several robots.
func (f *graph) noFrame(name string) error {
	if n := f.any(name); n != nil && n.merged == nil {
		if of := f.framesOf(n); len(of) > 1 {
			return engram.Errorf(engram.NotFound, name, "several robots have a frame of this name; say %s or %s, or state it as an item if they are the same", of[0].name, of[1].name)
		}
	}
	return notFound(name)
}

// ownFrame returns what a frame that a robot refers to is called by all: robot/name, unless it
// says whose it is.
func ownFrame(robot, name string) string {
	if robot == "" || name == "" || strings.Contains(name, "/") {
		return name
	}
	return robot + "/" + name
}

// sharedFrame returns the name of the item that a frame robot/name is, if there is one and
// nobody states the frame itself as an item; "" for other frames.
func sharedFrame(frame string) string {
	if _, name, ok := strings.Cut(frame, "/"); ok && !strings.Contains(name, "/") {
		return name
	}
	return ""
}

// bare reports whether nobody states an item of the name, and nobody removed one. Such a
// frame, as map and odom often are, joins all that is placed in it.
func (n *node) bare() bool {
	return n.merged == nil && !slices.ContainsFunc(n.said, func(s *Statement) bool { return s.Item.Removed != nil })
}

// joins reports whether poses in the frame of a node count.
func (f *graph) joins(id int32) bool {
	n := f.node(id)
	return n != nil && (n.merged != nil || n.bare() && (n.frame == none || f.joins(n.frame)))
}

func (f *graph) exists(id int32) bool {
	n := f.node(id)
	return n != nil && n.merged != nil
}

func notFound(name string) error {
	return engram.Errorf(engram.NotFound, name, "there is no such item; ask for all items, or state it")
}

// parent returns the parent that the forest gives the item, or nil.
func (f *graph) parent(n *node) *node {
	if p := f.node(n.up); p != nil && p.merged != nil && !n.cut[parents] {
		return p
	}
	return nil
}

// Len returns the number of items.
func (f *Forest) Len() int { return f.size }

// Has reports whether there is an item of the name.
func (f *Forest) Has(name string) bool { return f.item(name) != nil }

// Get returns the item of the name.
func (f *Forest) Get(name string) (*Merged, error) {
	n := f.item(name)
	if n == nil {
		return nil, notFound(name)
	}
	return n.merged, nil
}

// GetKind returns the item of the name, which must be of the kind; else the error is
// TypeMismatch.
func (f *Forest) GetKind(name, kind string) (*Merged, error) {
	m, err := f.Get(name)
	if err == nil && !m.Is(kind) {
		return nil, engram.Errorf(engram.TypeMismatch, name, "it is of %s, and not of the kind %s", kindsText(m.kinds()), kind)
	}
	return m, err
}

func (m *Merged) kinds() []string {
	if m.Description == nil {
		return nil
	}
	return m.Description.Kinds
}

// kindsText says of what kinds something is.
func kindsText(kinds []string) string {
	switch len(kinds) {
	case 0:
		return "no kind"
	case 1:
		return "the kind " + kinds[0]
	}
	return "the kinds " + strings.Join(kinds, ", ")
}

// Kinds returns what kinds the item is of.
func (f *Forest) Kinds(name string) ([]string, error) {
	m, err := f.Get(name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(m.kinds()), nil
}

// Statements returns what each provider says of the name, whether it exists or not.
func (f *Forest) Statements(name string) []*Statement {
	if n := f.any(name); n != nil {
		return slices.Clone(n.said)
	}
	return nil
}

// Spoken yields every name of which anybody said anything, in no order: of items, and of what is
// no more.
func (f *Forest) Spoken() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range f.pages {
			for _, n := range p.nodes {
				if n != nil && len(n.said) > 0 && !yield(n.name) {
					return
				}
			}
		}
	}
}

// NearestParent returns the nearest item of the kind above the item; NotFound if there is
// none.
func (f *Forest) NearestParent(name, kind string) (*Merged, error) {
	n := f.item(name)
	if n == nil {
		return nil, notFound(name)
	}
	for n = f.parent(n); n != nil; n = f.parent(n) {
		if n.merged.Is(kind) {
			return n.merged, nil
		}
	}
	return nil, engram.Errorf(engram.NotFound, name, "nothing of the kind %q is above it", kind)
}

// PathToRoot returns the item, its parent and so on up to a root.
func (f *Forest) PathToRoot(name string) ([]*Merged, error) {
	n := f.item(name)
	if n == nil {
		return nil, notFound(name)
	}
	var path []*Merged
	for ; n != nil; n = f.parent(n) {
		path = append(path, n.merged)
	}
	return path, nil
}

// Roots yields the items without a parent by name, without those that wait for one.
func (f *Forest) Roots() iter.Seq[*Merged] {
	return func(yield func(*Merged) bool) {
		f.roots.all(func(k *named) bool { return yield(f.node(k.id).merged) })
	}
}

// Children yields the items whose parent the item is, by name; nothing for an unknown one.
func (f *Forest) Children(name string) iter.Seq[*Merged] {
	return func(yield func(*Merged) bool) {
		if n := f.item(name); n != nil {
			f.below(n, func(c *node) bool { return yield(c.merged) })
		}
	}
}

// Below yields what [Forest.Children] yields of an item that the forest has.
func Below(f *Forest, m *Merged) iter.Seq[*Merged] {
	return func(yield func(*Merged) bool) {
		if n := f.of(m); n != nil {
			f.below(n, func(c *node) bool { return yield(c.merged) })
		}
	}
}

// below calls each with the children that exist and that the forest gives the node.
func (f *graph) below(n *node, each func(*node) bool) bool {
	whole := true
	n.children.all(func(k *named) bool {
		if c := f.node(k.id); c.merged != nil && !c.cut[parents] {
			whole = each(c)
		}
		return whole
	})
	return whole
}

// Subtree yields the item and all below it, parents before children and these by name.
func (f *Forest) Subtree(name string) iter.Seq[*Merged] {
	return func(yield func(*Merged) bool) {
		if n := f.item(name); n != nil {
			f.subtree(n, yield)
		}
	}
}

// subtree keeps its own stack: a tree may be as deep as there are items.
func (f *graph) subtree(n *node, yield func(*Merged) bool) bool {
	stack := []*node{n}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !yield(n.merged) {
			return false
		}
		first := len(stack)
		f.below(n, func(c *node) bool { stack = append(stack, c); return true })
		slices.Reverse(stack[first:])
	}
	return true
}

// All yields every item, parents before children: the trees of the roots by name, then
// those of the items that wait.
func (f *Forest) All() iter.Seq[*Merged] {
	return func(yield func(*Merged) bool) {
		whole := true
		f.roots.all(func(k *named) bool {
			whole = f.subtree(f.node(k.id), yield)
			return whole
		})
		if whole {
			f.eachWaiting(func(n *node, _ string) bool { return f.subtree(n, yield) })
		}
	}
}

// Waiting is an item whose parent does not exist.
type Waiting struct {
	Item   *Merged
	Parent string
}

// Waiting yields the items whose parent does not exist, by the parent's name and theirs.
func (f *Forest) Waiting() iter.Seq[Waiting] {
	return func(yield func(Waiting) bool) {
		f.eachWaiting(func(n *node, parent string) bool { return yield(Waiting{n.merged, parent}) })
	}
}

func (f *Forest) eachWaiting(each func(n *node, parent string) bool) {
	f.awaited.all(func(k *named) bool {
		return f.below(f.node(k.id), func(c *node) bool { return each(c, k.name) })
	})
}

// ByKind yields the items of the kind by name.
func (f *Forest) ByKind(kind string) iter.Seq[*Merged] { return f.tagged(tagKind, kind) }

// ByClass yields the items of the class by name; the class is an entity of Object/Class.
func (f *Forest) ByClass(class string) iter.Seq[*Merged] { return f.tagged(tagClass, class) }

func (f *Forest) tagged(field byte, value string) iter.Seq[*Merged] {
	return func(yield func(*Merged) bool) {
		f.eachTagged(field, value, func(n *node) bool { return yield(n.merged) })
	}
}

func (f *Forest) eachTagged(field byte, value string, each func(*node) bool) {
	f.tags.from(tag{&group{field, value}, &named{}}, byTag, func(t tag) bool {
		return t.field == field && t.value == value && each(f.node(t.id))
	})
}

// ByPlace yields the places that are called so, by name, spoken name, label or number. Each
// further name is of a place above: ByPlace("3006", "Karlstrasse", "Munich").
func (f *Forest) ByPlace(called string, within ...string) iter.Seq[*Merged] {
	return func(yield func(*Merged) bool) {
		for m := range f.tagged(tagCalled, called) {
			if f.liesWithin(m, within) && !yield(m) {
				return
			}
		}
	}
}

// liesWithin reports whether places called so are above the item, in this order.
func (f *Forest) liesWithin(m *Merged, within []string) bool {
	n := f.item(m.Name)
	for _, called := range within {
		for n = f.parent(n); ; n = f.parent(n) {
			if n == nil {
				return false
			}
			if f.tags.has(tag{&group{tagCalled, called}, n.named}, byTag) {
				break
			}
		}
	}
	return true
}

// Note is something about an item that is not as somebody stated it.
type Note struct{ Name, Text string }

// Notes yields what the merge could not take as it was stated, by the name of the item.
func (f *Forest) Notes() iter.Seq[Note] {
	return func(yield func(Note) bool) {
		f.noted.all(func(k *named) bool {
			n := f.node(k.id)
			for _, text := range n.notes(&f.rules) {
				if !yield(Note{n.name, text}) {
					return false
				}
			}
			return true
		})
	}
}

func (n *node) notes(r *Rules) (texts []string) {
	for _, s := range n.said {
		if s.fault != nil {
			texts = append(texts, s.fault.text)
		}
	}
	if n.merged == nil {
		return texts
	}
	if a, b := r.atOdds(n.said); a != nil {
		texts = append(texts, fmt.Sprintf("the name is taken twice: %s says that it is of %s, %s that it is of %s; if these are two things, give one another name, else state all kinds",
			a.Provider, kindsText(a.Item.Description.Kinds), b.Provider, kindsText(b.Item.Description.Kinds)))
	}
	if live := r.living(n.said); slices.Contains(kindsOf(live), KindRobot) {
		for _, s := range live {
			if s.Home == InWorld && !s.ofRobot(n.name) && (s.Item.Placement != nil || s.Item.Structure != nil && s.Item.Structure.Parent != "") {
				texts = append(texts, "where it is counts from itself only, and not from "+s.Who()+", who says it, too; 'engram world withdraw' takes it back")
			}
		}
	}
	if d := n.merged.Description; d != nil {
		if err := d.check(""); err != nil {
			texts = append(texts, err.Error())
		}
	}
	if d := n.merged.Description; d != nil && d.Shape != nil && d.Shape.Kind == ShapeMesh {
		if _, err := url.Parse(d.Shape.Mesh); err != nil || d.Shape.Mesh == "" {
			texts = append(texts, fmt.Sprintf("its mesh %q leads nowhere; state the path or the URL of one", d.Shape.Mesh))
		}
	}
	if s := n.merged.Structure; s != nil && s.Parent == n.name {
		texts = append(texts, "its parent is itself, so it has none; state another one")
	}
	if n.cut[parents] {
		texts = append(texts, "its parent "+n.merged.parent()+" lies below it, which is the newest edge of that loop, so it has none; state another one")
	}
	if n.cut[frames] {
		texts = append(texts, "its pose closes a loop of frames, of which it is the newest, so it has none; state it in another frame")
	}
	return texts
}
