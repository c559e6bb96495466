package memories

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

//go:embed types
var typeFiles embed.FS

// typeFolders are the folders under types/engram. Each but the first, whose types
// others include, holds the types of a memory.
var typeFolders = []string{
	"geometry", "example", "general_purpose", "grasp", "knowledge", "navigation", "object", "robot_state", "skill", "speech", "system_state", "vision", "world",
}

// compiledTypes are the types of all memories.
type compiledTypes struct {
	byFolder map[string][]engram.TypeDef // in the order of the files
	registry *idf.Registry
}

// compiled compiles the type files, once in a process.
var compiled = sync.OnceValues(func() (*compiledTypes, error) {
	root, err := fs.Sub(typeFiles, "types")
	if err != nil {
		return nil, err
	}
	c := &compiledTypes{byFolder: map[string][]engram.TypeDef{}, registry: idf.NewRegistry()}
	for _, folder := range typeFolders {
		if err = c.compile(root, folder); err != nil {
			break
		}
	}
	if err != nil {
		return nil, engram.Errorf(engram.Internal, "types", "the types of the memories do not compile: %w", err)
	}
	return c, nil
})

func (c *compiledTypes) compile(root fs.FS, folder string) error {
	files, err := fs.Glob(root, "engram/"+folder+"/*")
	if err != nil {
		return err
	}
	for _, file := range files {
		compile := idf.CompileXML
		if strings.HasSuffix(file, ".proto") {
			compile = idf.CompileProto
		}
		defs, err := compile(idf.Source{root}, file)
		if err != nil {
			return err
		}
		for _, def := range defs {
			if _, err := c.registry.Add(def); err != nil {
				return err
			}
		}
		c.byFolder[folder] = append(c.byFolder[folder], defs...)
	}
	return nil
}

// mustCompile returns the compiled types. They are part of the program, so it
// panics if they are wrong.
func mustCompile() *compiledTypes {
	c, err := compiled()
	if err != nil {
		panic(err)
	}
	return c
}

// Type returns a type that the memories of this package use, or one that every
// registry knows, by its full name such as "engram.object.Instance".
func Type(name string) (*idf.Type, bool) { return mustCompile().registry.Get(name) }

// typesIn returns the types defined in these folders under types/engram.
func typesIn(folders ...string) []engram.TypeDef {
	var defs []engram.TypeDef
	for _, f := range folders {
		defs = append(defs, mustCompile().byFolder[f]...)
	}
	return defs
}

// TypeNames returns the names of the types that [Type] knows, sorted.
func TypeNames() []string { return mustCompile().registry.Names() }
