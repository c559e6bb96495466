package idf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
)

// CompileProto compiles a .proto file and returns its top-level messages, each a
// self-contained definition of format "proto". Imports are searched among the
// files every [Registry] knows, then in src. The error is Invalid and begins with
// file:line:column; NotFound if there is no such file.
func CompileProto(src Source, path string) ([]engram.TypeDef, error) {
	path = cleanPath(path)
	files := &protoFiles{main: path}
	files.mu.reader.src = src
	text, err := files.read(path)
	if err != nil {
		return nil, err
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(files),
		MaxParallelism: 1,
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	linked, err := compiler.Compile(context.Background(), path)
	if err != nil {
		return nil, files.explain(err)
	}
	set, err := descriptorSet(linked[0])
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, path+":1:1", "%w", err)
	}
	var defs []engram.TypeDef
	for i := range linked[0].Messages().Len() {
		def := engram.TypeDef{
			Name: string(linked[0].Messages().Get(i).FullName()), Descriptors: set,
			Source: string(text), Format: "proto",
		}
		if _, err := ParseType(def); err != nil {
			return nil, engram.Errorf(engram.Invalid, path+":1:1", "%w", err)
		}
		defs = append(defs, def)
	}
	return defs, nil
}

// protoError gives what the compiler reports the form of this package's errors.
func protoError(path string, err error) error {
	if e, ok := errors.AsType[*engram.Error](err); ok && e.Code == engram.Invalid {
		return e
	}
	if pos, ok := errors.AsType[reporter.ErrorWithPos](err); ok {
		p := pos.GetPosition()
		return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d:%d", p.Filename, p.Line, p.Col), "%w", pos.Unwrap())
	}
	return engram.Errorf(engram.Invalid, path+":1:1", "%w", err)
}

// protoFiles finds the files of one compilation for the compiler.
type protoFiles struct {
	main string

	mu struct {
		sync.Mutex
		reader sourceReader
		texts  map[string][]byte
		broken error // of the first file that could not be parsed, with its own place
	}
}

// explain returns the error of a compilation: of the file that could not be parsed,
// where there is one, else what the compiler says.
func (p *protoFiles) explain(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.broken != nil {
		return p.mu.broken
	}
	return protoError(p.main, err)
}

// read returns a file's text, which is read once.
func (p *protoFiles) read(path string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, ok := p.mu.texts[path]; ok {
		return b, nil
	}
	b, err := p.mu.reader.read(path)
	if err != nil {
		return nil, err
	}
	if p.mu.texts == nil {
		p.mu.texts = map[string][]byte{}
	}
	p.mu.texts[path] = b
	return b, nil
}

// FindFileByPath parses the file of that path, or returns the known one.
func (p *protoFiles) FindFileByPath(path string) (protocompile.SearchResult, error) {
	if f, ok := knownFiles()[path]; ok && path != p.main {
		return protocompile.SearchResult{Desc: f}, nil
	}
	text, err := p.read(path)
	if err != nil {
		return protocompile.SearchResult{}, err
	}
	result, err := parseProto(path, text)
	if err != nil {
		err = protoError(path, err)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.mu.broken == nil {
			p.mu.broken = err
		}
		return protocompile.SearchResult{}, err
	}
	return protocompile.SearchResult{ParseResult: result}, nil
}

// parseProto parses a file within the limits of a type's definition: the compiler
// makes full names of all that is declared.
func parseProto(path string, text []byte) (parser.Result, error) {
	if err := limitBraces(path, text); err != nil {
		return nil, err
	}
	handler := reporter.NewHandler(nil)
	tree, err := parser.Parse(path, bytes.NewReader(text), handler)
	if err != nil {
		return nil, err
	}
	result, err := parser.ResultFromAST(tree, true, handler)
	if err != nil {
		return nil, err
	}
	return result, limitFiles([]*descriptorpb.FileDescriptorProto{result.FileDescriptorProto()})
}

// limitBraces refuses text nested so deeply that the compiler, which calls itself
// per level, would need much of the memory.
func limitBraces(path string, text []byte) error {
	const deepest = 200
	depth, line := 0, 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\n':
			line++
		case '{', '[', '(', '<':
			if depth++; depth > deepest {
				return engram.Errorf(engram.Invalid, fmt.Sprintf("%s:%d:1", path, line), "braces nested over %d deep", deepest)
			}
		case '}', ']', ')', '>':
			depth = max(0, depth-1)
		case '"', '\'', '/':
			n := skipQuoted(text[i:])
			line += bytes.Count(text[i:i+n], []byte{'\n'})
			i += n - 1
		}
	}
	return nil
}

// skipQuoted returns the length of the string or comment that text begins with, 1
// if it begins with neither. A string ends with its line at the latest.
func skipQuoted(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		if n := bytes.IndexByte(text, '\n'); n >= 0 {
			return n
		}
		return len(text)
	case bytes.HasPrefix(text, []byte("/*")):
		if n := bytes.Index(text[2:], []byte("*/")); n >= 0 {
			return n + 4
		}
		return len(text)
	case text[0] == '/':
		return 1
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case text[0]:
			return i + 1
		case '\n':
			return i
		case '\\':
			i++
		}
	}
	return len(text)
}
