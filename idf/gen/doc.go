// Package gen writes classes from types: business objects in Go, Python, C++ and
// TypeScript that convert themselves to payload bytes and back, and that can be cast
// from payloads of other types by the names of their members (docs/codegen.md).
//
// The types become a [model] first, which knows no language; each language has a
// writer of its own. What a class cannot do by itself is in a small library of each
// language: package idf/object for Go, engram.payload of clients/python, and the
// files of support/ that are written beside the classes for C++ and TypeScript.
package gen

import (
	"fmt"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// A Language is one that classes are written in.
type Language string

// The languages.
const (
	Go         Language = "go"
	Python     Language = "python"
	Cpp        Language = "cpp"
	TypeScript Language = "typescript"
)

// Languages are all there are.
var Languages = []Language{Go, Python, Cpp, TypeScript}

// Options say how classes are written.
type Options struct {
	// Package is the name of the Go package, and of the header and source of C++.
	Package string
}

// Files returns the files with the classes of types and of all they are made of, by
// their path below the output folder. Equal types give equal files. The error is
// Invalid, and names the type or member.
func Files(lang Language, types []*idf.Type, o Options) (map[string][]byte, error) {
	write, ok := writers[lang]
	if !ok {
		return nil, engram.Errorf(engram.Invalid, string(lang), "no language of this generator; there are %v", Languages)
	}
	known := libraryTypes
	if lang == Go {
		known = nil
	}
	m, err := newModel(types, lang == Go, known)
	if err != nil {
		return nil, err
	}
	if len(m.packages) == 0 {
		return nil, engram.Errorf(engram.Invalid, typeNames(types), "there is nothing to write: the library of %s has these classes", lang)
	}
	return write(m, o)
}

var writers = map[Language]func(*model, Options) (map[string][]byte, error){
	Go: writeGo, Python: writePython, Cpp: writeCpp, TypeScript: writeTypeScript,
}

func typeNames(types []*idf.Type) string {
	var names []string
	for _, t := range types {
		names = append(names, t.Name())
	}
	slices.Sort(names)
	return fmt.Sprint(names)
}
