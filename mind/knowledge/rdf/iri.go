package rdf

import "strings"

// scheme returns how long the scheme of an IRI is, without the colon; 0 if it
// is relative.
func scheme(iri string) int {
	for i := 0; i < len(iri); i++ {
		c := iri[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		case c == ':':
			return i
		default:
			return 0
		}
	}
	return 0
}

// resolve returns an IRI that is given relative to a base (RFC 3986, 5.2).
// Nothing else of it is changed; without a base it stays relative.
func resolve(base, ref string) string {
	if base == "" || scheme(ref) > 0 {
		return ref
	}
	base, _, _ = strings.Cut(base, "#")
	if ref == "" {
		return base
	}
	if ref[0] == '#' {
		return base + ref
	}
	base, _, _ = strings.Cut(base, "?")
	head := scheme(base) + 1
	if head == 1 {
		head = 0
	}
	if strings.HasPrefix(ref, "//") {
		return base[:head] + ref
	}
	authority := head
	if strings.HasPrefix(base[head:], "//") {
		authority = len(base)
		if i := strings.IndexByte(base[head+2:], '/'); i >= 0 {
			authority = head + 2 + i
		}
	}
	pathOnly, rest := ref, ""
	if i := strings.IndexAny(ref, "?#"); i >= 0 {
		pathOnly, rest = ref[:i], ref[i:]
	}
	whole := base[authority:]
	switch {
	case pathOnly == "": // a query
	case pathOnly[0] == '/':
		whole = withoutDots(pathOnly)
	default:
		whole = whole[:strings.LastIndexByte(whole, '/')+1]
		if whole == "" && authority > head {
			whole = "/"
		}
		whole = withoutDots(whole + pathOnly)
	}
	return base[:authority] + whole + rest
}

func withoutDots(path string) string {
	if !strings.Contains(path, ".") {
		return path
	}
	var out []string
	parts := strings.Split(path, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch part {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			if len(out) > 1 || len(out) == 1 && out[0] != "" {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, part)
		}
	}
	return strings.Join(out, "/")
}
