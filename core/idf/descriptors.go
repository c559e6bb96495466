package idf

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/seed-301d4374/engram"
)

// DescriptorSet returns the encoded FileDescriptorSet of several types: their files and
// all that these import, each once and after its imports, as protoc writes it with
// --include_imports. The error is Invalid if two types bring different files of one
// path.
func DescriptorSet(types ...*Type) ([]byte, error) {
	var set []byte
	have := map[string]string{} // the encoded files by path
	for _, t := range types {
		b, err := descriptorSet(t.desc.ParentFile())
		if err != nil {
			return nil, engram.Errorf(engram.Invalid, t.Name(), "type: %w", err)
		}
		different := ""
		eachFile(b, func(path string, field, _ []byte) {
			switch had, ok := have[path]; {
			case !ok:
				have[path] = string(field)
				set = append(set, field...)
			case had != string(field):
				different = path
			}
		})
		if different != "" {
			return nil, engram.Errorf(engram.Invalid, t.Name(), "its file %s is another than that of the other types; write them one by one", different)
		}
	}
	return set, nil
}

// completeSet adds the files to an encoded set that it imports and does not bring, and
// that every [Registry] knows, and puts each file after its imports. Of files of one path that
// say the same the first stays. A set that is so, is malformed, holds different files of one path,
// or is or would be larger than a set may be is returned as it is.
func completeSet(set []byte) []byte {
	if len(set) > MaxDescriptors {
		return set
	}
	type part struct {
		field   []byte
		file    []byte
		said    []byte // by the file, of the data; nil until it is compared with another
		imports []string
	}
	var paths []string
	parts := map[string]*part{}
	twice := false
	bounded := sync.OnceValue(func() bool { return limitEncoded(set) == nil }) // in what the files take in memory
	most := maxFiles + len(knownFiles())
	whole := eachFile(set, func(path string, field, file []byte) {
		if len(paths) > most {
			return
		}
		if had, ok := parts[path]; ok {
			if twice || bytes.Equal(had.file, file) {
				return
			}
			if twice = !bounded(); twice {
				return
			}
			if had.said == nil {
				had.said, _ = saidOfData(had.file)
			}
			said, ok := saidOfData(file)
			twice = !ok || !bytes.Equal(had.said, said)
			return
		}
		p := &part{field: field, file: file}
		for rest := file; ; {
			content, after, found, err := nextRecord(rest, 3) // FileDescriptorProto.dependency
			if err != nil || !found {
				break
			}
			p.imports = append(p.imports, string(content))
			rest = after
		}
		paths, parts[path] = append(paths, path), p
	})
	if !whole || twice || len(paths) > most {
		return set
	}
	var out []byte
	done := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		p, brought := parts[path]
		known := knownFiles()[path]
		if done[path] || !brought && known == nil {
			return
		}
		done[path] = true
		if !brought {
			p = &part{}
			for i := range known.Imports().Len() {
				p.imports = append(p.imports, known.Imports().Get(i).Path())
			}
			p.field = protowire.AppendBytes(protowire.AppendTag(nil, setFile, protowire.BytesType), knownEncoded().bytes[path])
		}
		for _, imported := range p.imports {
			add(imported)
		}
		out = append(out, p.field...)
	}
	for _, path := range paths {
		add(path)
	}
	if len(out) > MaxDescriptors {
		return set
	}
	return out
}

// saidOfData returns what an encoded file says of the data, encoded, whatever order its parts stand
// in and whatever it has for people and for generated code. It reports whether the file can be read.
func saidOfData(file []byte) (said []byte, ok bool) {
	f := &descriptorpb.FileDescriptorProto{}
	if (proto.UnmarshalOptions{RecursionLimit: 100}).Unmarshal(file, f) != nil {
		return nil, false
	}
	f.SourceCodeInfo, f.Service, f.PublicDependency, f.WeakDependency, f.OptionDependency = nil, nil, nil, nil, nil
	if features := f.GetOptions().GetFeatures(); features != nil { // of an edition: they tell how members are encoded
		f.Options = &descriptorpb.FileOptions{Features: features}
	} else {
		f.Options = nil
	}
	if f.GetSyntax() == "proto2" {
		f.Syntax = nil
	}
	f.ProtoReflect().SetUnknown(nil)
	slices.Sort(f.Dependency)
	sortMembers(f.Extension)
	sortMessages(f.MessageType)
	slices.SortFunc(f.EnumType, func(a, b *descriptorpb.EnumDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
	said, err := proto.MarshalOptions{Deterministic: true}.Marshal(f)
	return said, err == nil
}

// sortMessages puts messages and all that is in them into an order of their own, and gives their
// members the names that these have in JSON anyway.
func sortMessages(ms []*descriptorpb.DescriptorProto) {
	for _, m := range ms {
		sortMembers(m.Field)
		sortMembers(m.Extension)
		sortMessages(m.NestedType)
		slices.SortFunc(m.EnumType, func(a, b *descriptorpb.EnumDescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
		m.ReservedName, m.ReservedRange = nil, nil
	}
	slices.SortFunc(ms, func(a, b *descriptorpb.DescriptorProto) int { return strings.Compare(a.GetName(), b.GetName()) })
}

func sortMembers(fs []*descriptorpb.FieldDescriptorProto) {
	for _, f := range fs {
		if f.GetJsonName() == "" {
			f.JsonName = proto.String(jsonName(f.GetName()))
		}
	}
	slices.SortFunc(fs, func(a, b *descriptorpb.FieldDescriptorProto) int { return cmp.Compare(a.GetNumber(), b.GetNumber()) })
}

// eachFile calls f with every file of an encoded set: its path, the whole field, and the
// encoded file. It reports whether the set is nothing but files.
func eachFile(set []byte, f func(path string, field, file []byte)) bool {
	for len(set) > 0 {
		number, wire, n := protowire.ConsumeField(set)
		if n < 0 || number != setFile || wire != protowire.BytesType {
			return false
		}
		field := set[:n]
		set = set[n:]
		_, _, tag := protowire.ConsumeTag(field)
		file, _ := protowire.ConsumeBytes(field[tag:])
		path, _ := lastRecord(file, 1, false) // FileDescriptorProto.name
		f(string(path), field, file)
	}
	return true
}
