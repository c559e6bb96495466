package idf

import "testing/fstest"

// memSource returns a source of files given as text.
func memSource(files map[string]string) Source {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Source{fsys}
}
