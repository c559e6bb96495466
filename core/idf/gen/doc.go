// Package gen writes classes from types: business objects in Go and Python that convert
// themselves to payload bytes and back, and that can be cast from payloads of other types
// by the names of their members (docs/codegen.md).
//
// The types become a [model] first, which knows no language; each language has a
// writer of its own. What a class cannot do by itself is in a small library of each
// language: package core/idf/object for Go, engram.payload of clients/python.
package gen

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// A Language is one that classes are written in.
type Language string

// The languages.
const (
	Go     Language = "go"
	Python Language = "python"
)

// Options say how classes are written.
type Options struct {
	// Package is the name of the package: of a Go package, from which characters that it cannot have are left out, or that
	// by which Python imports it, which must be an identifier if it is not "".
	Package string
}

// Files returns the files with the classes of types and of all they are made of, by
// their path below the output folder. Equal types give equal files. The error is
// Invalid, and names the type or member.
func Files(lang Language, types []*idf.Type, o Options) (map[string][]byte, error) {
	var write func(*model, Options) (map[string][]byte, error)
	var library map[string]string
	switch lang {
	case Go:
		write = writeGo
	case Python:
		write, library = writePython, libraryTypes
	default:
		return nil, engram.Errorf(engram.Invalid, string(lang), "no language of this generator; there are %s and %s", Go, Python)
	}
	m, err := newModel(types, lang == Go, library)
	if err != nil {
		return nil, err
	}
	if len(m.packages) == 0 {
		var names []string
		for _, t := range types {
			names = append(names, t.Name())
		}
		slices.Sort(names)
		return nil, engram.Errorf(engram.Invalid, strings.Join(names, ", "), "there is nothing to write: the library of %s has these classes", lang)
	}
	return write(m, o)
}
