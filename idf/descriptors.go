package idf

import (
	"google.golang.org/protobuf/encoding/protowire"

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
// that every [Registry] knows, and puts each file after its imports. One that is so, is
// malformed, or is or would be larger than a set may be is returned as it is.
func completeSet(set []byte) []byte {
	if len(set) > MaxDescriptors {
		return set
	}
	type part struct {
		field   []byte
		imports []string
	}
	var paths []string
	parts := map[string]part{}
	twice := false
	most := maxFiles + len(knownFiles())
	whole := eachFile(set, func(path string, field, file []byte) {
		if len(paths) > most {
			return
		}
		_, had := parts[path]
		twice = twice || had
		p := part{field: field}
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
	if !whole || twice || len(paths) > most { // equal files are read as one, and others refused
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
