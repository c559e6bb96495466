package idf

import (
	"cmp"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// NumberMember is a number in a payload, for display.
type NumberMember struct {
	Path string           // as [Type.Numbers] takes it
	Name string           // of an element that goes by its name ([Type.NameNumbers])
	Type string           // in IDF's words, such as "Double" or "Duration"; of an enumeration its name
	Keys map[int32]string // of an enumeration's numbers; not to be changed
	Doc  string           // the comment at its definition, or at that of what it is in
}

// NumberMembers returns the numbers in a payload that [Type.Numbers] reads, up to most,
// in the order of its members. Those of lists, dicts and Values are those that are there;
// of others also such as are unset. The error is Corrupt.
func (t *Type) NumberMembers(b []byte, most int) ([]NumberMember, error) {
	l := numberLister{most: most}
	if err := l.message(layoutOf(t), t.desc, "", b, 1); err != nil {
		return nil, t.fail(under(string(l.path.path), err))
	}
	return l.found, nil
}

type numberLister struct {
	path    walker // only its path
	records records
	found   []NumberMember
	most    int
}

func (l *numberLister) add(words, doc string, e *enumeration) {
	if len(l.found) < l.most {
		m := NumberMember{Path: string(l.path.path), Type: words, Doc: doc}
		if e != nil {
			m.Keys = e.keys
		}
		l.found = append(l.found, m)
	}
}

// message lists the numbers of a message. At an error the path is that of what it is about.
func (l *numberLister) message(of *layout, md protoreflect.MessageDescriptor, doc string, b []byte, depth int) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	switch of.special {
	case isTime:
		l.add("Time", doc, nil)
		return nil
	case isDuration:
		l.add("Duration", doc, nil)
		return nil
	case isValue:
		return l.variant(doc, b, depth)
	case isLink, isArray, isMatrix:
		return nil
	}
	from, to, err := l.records.open(of, b)
	if err != nil {
		return err
	}
	plan := &walkPlan{layout: of}
	end := len(l.path.path)
	at := from
	for _, m := range of.members {
		first := at
		for at < to && l.records.stack[at].m == m {
			at++
		}
		if len(l.found) >= l.most {
			break
		}
		fd := md.Fields().Get(m.index)
		loc := fd.ParentFile().SourceLocations().ByDescriptor(fd)
		own := cmp.Or(commentText(loc.LeadingComments+loc.TrailingComments), doc)
		l.path.member(plan, &walkField{m: m})
		if err := l.member(m, fd, own, first, at, depth); err != nil {
			return err
		}
		l.path.path = l.path.path[:end]
	}
	l.records.close(from)
	return nil
}

// member lists the numbers of a member, whose records stand from first to end.
func (l *numberLister) member(m *member, fd protoreflect.FieldDescriptor, doc string, first, end, depth int) error {
	path := len(l.path.path)
	switch {
	case m.dict:
		for i := first; i < end; i++ {
			if err := l.entry(m, fd, doc, l.records.stack[i].b, depth+1); err != nil {
				return err
			}
			l.path.path = l.path.path[:path]
		}
		return nil
	case m.list:
		index := 0
		for i := first; i < end; i++ {
			o := l.records.stack[i]
			count := 1
			if o.isPacked() {
				count = m.packedLen(o.b)
			}
			for range count {
				if len(l.found) >= l.most {
					return nil
				}
				l.path.index(index)
				index++
				if err := l.value(m, fd, doc, o.b, depth); err != nil {
					return err
				}
				l.path.path = l.path.path[:path]
			}
		}
		return nil
	case m.msg != nil && first == end:
		return nil
	}
	return l.value(m, fd, doc, merged(l.records.stack[first:end]), depth)
}

func (l *numberLister) entry(m *member, fd protoreflect.FieldDescriptor, doc string, b []byte, depth int) error {
	from, to, err := l.records.open(m.msg, b)
	if err != nil {
		return err
	}
	var key occurrence
	var value parts
	for _, o := range l.records.stack[from:to] {
		if o.m == m.key() {
			key = o
		} else {
			value.add(o.b)
		}
	}
	l.records.close(from)
	if m.key().kind == protoreflect.StringKind {
		l.path.key(key.b)
	} else {
		l.path.key([]byte(m.key().keyText(key.num)))
	}
	return l.value(m.elem(), fd.MapValue(), doc, value.b, depth)
}

// value lists a single value of a member.
func (l *numberLister) value(m *member, fd protoreflect.FieldDescriptor, doc string, b []byte, depth int) error {
	switch {
	case m.msg != nil:
		return l.message(m.msg, fd.Message(), doc, b, depth+1)
	case m.enum != nil:
		l.add(m.enum.name, doc, m.enum)
	case m.scalarKind()&(KindNumber|KindFlag) != 0:
		l.add(scalarWords[m.kind], doc, nil)
	}
	return nil
}

// variantWords are the words for numbers that a Value holds.
var variantWords = [variantUint64 + 1]string{
	variantBool: "Bool", variantInt32: "Int", variantInt64: "Long", variantUint64: "ULong", variantFloat: "Float", variantDouble: "Double",
	variantTime: "Time", variantDuration: "Duration",
}

func (l *numberLister) variant(doc string, b []byte, depth int) error {
	if depth > maxDepth {
		return errNesting(engram.Corrupt)
	}
	v, err := readVariant(b)
	if err != nil {
		return err
	}
	if v.kind != variantList && v.kind != variantDict {
		if words := variantWords[v.kind]; words != "" {
			l.add(words, doc, nil)
		}
		return nil
	}
	end, inner := len(l.path.path), depth+2
	if v.kind == variantDict {
		inner++ // its entries are messages
	}
	for i := 0; len(l.found) < l.most; i++ {
		content, rest, found, err := nextRecord(v.b, 1)
		if err != nil || !found {
			return err
		}
		v.b = rest
		if v.kind == variantDict {
			var key []byte
			if key, content, err = dictEntry(content); err != nil {
				return err
			}
			l.path.key(key)
		} else {
			l.path.index(i)
		}
		if err := l.variant(doc, content, inner); err != nil {
			return err
		}
		l.path.path = l.path.path[:end]
	}
	return nil
}

// NameNumbers has members, as [Type.NumberMembers] has them of a payload, go by name where they are elements of a list beside
// as many names ([ElementLabels]), so that they are found where other payloads have them; of those that share a name the
// first. The error is Corrupt.
func (t *Type) NameNumbers(b []byte, members []NumberMember) error {
	paths, texts := make([]string, len(members)), make([]string, len(members)) // numbers have no texts
	for i, m := range members {
		paths[i] = m.Path
	}
	err := t.Walk(b, KindString, func(f *Found) bool {
		paths, texts = append(paths, string(f.Path)), append(texts, string(f.Bytes))
		return true
	})
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for i, label := range ElementLabels(paths, func(i int) string { return texts[i] })[:len(members)] {
		if label == "" {
			continue
		}
		var path walker
		list, _, _ := cutIndex(paths[i])
		path.path = append(path.path, list...)
		path.key([]byte(label))
		named := string(path.path)
		if known[named] {
			continue
		}
		if _, err := t.Numbers([]string{named}); err == nil {
			known[named] = true
			members[i].Path, members[i].Name = named, label
		}
	}
	return nil
}
