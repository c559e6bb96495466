package idf

import (
	"io/fs"

	"github.com/seed-301d4374/engram"
)

// Source is where type files and what they include are found: file systems,
// searched in order.
type Source []fs.FS

// CompileXML compiles the ArmarX XML type file of that path (slashes, relative to
// one of the file systems) and returns the types it generates, each a
// self-contained definition of format "xml". The error is Invalid and begins with
// file:line.
func CompileXML(src Source, path string) ([]engram.TypeDef, error) { panic("to be built") }

// CompileProto compiles a .proto file and returns its top-level messages, each a
// self-contained definition of format "proto". Imports are searched in src and
// among the files every [Registry] knows. The error is Invalid and begins with
// file:line:column.
func CompileProto(src Source, path string) ([]engram.TypeDef, error) { panic("to be built") }

// PrintProto returns the .proto text of the file in which the type is defined,
// which compiles to the same type: the way from XML to .proto.
func PrintProto(t *Type) (string, error) { panic("to be built") }
