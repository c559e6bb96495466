package idf

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
)

// pathOf returns the names of a member, or of a member of a member, such as pose, position
// and z of pose.position.z; nil if the expression is something else, such as what a loop
// goes through, or asks with has().
func pathOf(f *Filter, e ast.Expr) (path []string) {
	for ; e.Kind() == ast.SelectKind; e = e.AsSelect().Operand() {
		if e.AsSelect().IsTestOnly() {
			return nil
		}
		path = append(path, e.AsSelect().FieldName())
	}
	if e.Kind() != ast.IdentKind {
		return nil
	}
	switch name := e.AsIdent(); {
	case slices.Contains(f.members, name):
		path = append(path, name)
	case name != "payload":
		return nil
	}
	slices.Reverse(path)
	return path
}

// follow returns the member of t's payloads that a path leads to. It is nil where that
// is not known beforehand; absent then names the first part of the path that no payload
// of the type has, "" if one may have it.
func follow(t *Type, path []string) (m *member, absent string) {
	l := layoutOf(t)
	for i, name := range path {
		switch {
		case i > 0 && (m.list || m.dict):
			return nil, ""
		case i > 0 && m.msg == nil:
			return nil, strings.Join(path[:i+1], ".") // a number or a text has no members
		case i > 0:
			l = m.msg
		}
		if l.special != isObject {
			return nil, ""
		}
		if m = l.named(name); m == nil {
			return nil, strings.Join(path[:i+1], ".")
		}
	}
	return m, ""
}
