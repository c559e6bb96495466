package idf

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

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
		eachFile(b, func(path string, field []byte) {
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

// eachFile calls f with the path of every file of an encoded set, and with its whole
// field. A set that is malformed ends where it is.
func eachFile(set []byte, f func(path string, field []byte)) {
	for len(set) > 0 {
		number, wire, n := protowire.ConsumeField(set)
		if n < 0 {
			return
		}
		field := set[:n]
		set = set[n:]
		if number != setFile || wire != protowire.BytesType {
			continue
		}
		_, _, tag := protowire.ConsumeTag(field)
		raw, _ := protowire.ConsumeBytes(field[tag:])
		path, _ := lastRecord(raw, 1, false) // FileDescriptorProto.name
		f(string(path), field)
	}
}

// pathsIn returns the paths of the files of an encoded set.
func pathsIn(set []byte) map[string]bool {
	paths := map[string]bool{}
	eachFile(set, func(path string, _ []byte) { paths[path] = true })
	return paths
}

// bringsAll reports whether a file and all it imports are among paths.
func bringsAll(paths map[string]bool, file protoreflect.FileDescriptor, seen map[string]bool) bool {
	if seen[file.Path()] {
		return true
	}
	seen[file.Path()] = true
	if !paths[file.Path()] {
		return false
	}
	for i := range file.Imports().Len() {
		if !bringsAll(paths, file.Imports().Get(i).FileDescriptor, seen) {
			return false
		}
	}
	return true
}
