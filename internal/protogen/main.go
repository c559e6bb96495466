// Command protogen writes gen/ from api/: it compiles the .proto files and hands
// them to the plugin that go.mod pins as a tool, so that nothing but Go is needed. The
// descriptors of api/ for the client for Python go into its package, as one file.
// TypeScript, gen/es, needs Node.js: it is written where "npm ci --prefix edge/web/app" was
// run, and stays as it is elsewhere.
//
//	go run ./internal/protogen        # from the module's root
package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const module = "github.com/seed-301d4374/engram/gen"

func main() {
	log.SetFlags(0)
	if err := generate("api", "gen"); err != nil {
		log.Fatal("protogen: ", err)
	}
}

func generate(apiDir, genDir string) error {
	var files []string
	err := filepath.WalkDir(apiDir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".proto") {
			rel, _ := filepath.Rel(apiDir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		return err
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{apiDir}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return err
	}
	req := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: files,
		Parameter:      proto.String("module=" + module),
	}
	seen := map[string]bool{}
	for _, f := range compiled {
		addFile(req, seen, f)
	}
	languages := []string{"engram", "foxglove"}
	_, lacking := os.Stat(typeScript)
	if lacking == nil {
		languages = append(languages, "es")
	}
	for _, dir := range languages {
		if err := os.RemoveAll(filepath.Join(genDir, dir)); err != nil {
			return err
		}
	}
	if err := run(exec.Command("go", "tool", "protoc-gen-go"), req, genDir); err != nil {
		return err
	}
	if err := writeDescriptors(req.ProtoFile, python); err != nil {
		return err
	}
	if lacking != nil {
		log.Printf("protogen: gen/es stays as it is: %v", lacking)
		return nil
	}
	req.FileToGenerate = slices.DeleteFunc(files, func(f string) bool { return !strings.HasPrefix(f, "engram/v1/") })
	req.Parameter = proto.String("target=ts,import_extension=js")
	return run(exec.Command("node", typeScript), req, filepath.Join(genDir, "es"))
}

// python is where the client for Python has the descriptors of api/, as part of its package.
const python = "clients/python/src/engram/api.binpb"

// writeDescriptors writes files, without their comments, as an encoded FileDescriptorSet:
// programs that make their classes when they run load it, whatever their protobuf's version.
func writeDescriptors(files []*descriptorpb.FileDescriptorProto, path string) error {
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range files {
		f = proto.CloneOf(f)
		f.SourceCodeInfo = nil
		set.File = append(set.File, f)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// typeScript is the plugin for TypeScript.
const typeScript = "edge/web/app/node_modules/@bufbuild/protoc-gen-es/bin/protoc-gen-es"

// addFile adds f after everything it imports, as plugins expect.
func addFile(req *pluginpb.CodeGeneratorRequest, seen map[string]bool, f protoreflect.FileDescriptor) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		addFile(req, seen, f.Imports().Get(i).FileDescriptor)
	}
	// Through bytes, so that options are of the generated Go types.
	b, err := proto.Marshal(protoutil.ProtoFromFileDescriptor(f))
	if err != nil {
		log.Fatal("protogen: ", err)
	}
	fd := &descriptorpb.FileDescriptorProto{}
	if err := proto.Unmarshal(b, fd); err != nil {
		log.Fatal("protogen: ", err)
	}
	req.ProtoFile = append(req.ProtoFile, fd)
}

// run has a plugin write the files of a request below a folder.
func run(cmd *exec.Cmd, req *pluginpb.CodeGeneratorRequest, genDir string) error {
	in, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	plugin := filepath.Base(cmd.Args[len(cmd.Args)-1])
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", plugin, err)
	}
	var resp pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &resp); err != nil {
		return fmt.Errorf("%s: %w", plugin, err)
	}
	if resp.Error != nil {
		return fmt.Errorf("%s: %s", plugin, resp.GetError())
	}
	for _, f := range resp.File {
		path := filepath.Join(genDir, f.GetName())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
