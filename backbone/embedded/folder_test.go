package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

// What stands in the place of the server's folder is named at once.
func TestFolderIsSomethingElse(t *testing.T) {
	for _, name := range []string{".", "nats", "nats/jetstream"} {
		dir := filepath.Join(t.TempDir(), "backbone")
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Start(t.Context(), Options{Dir: dir})
		if engram.CodeOf(err) != engram.Unavailable || !strings.Contains(err.Error(), file) {
			t.Errorf("a file in the place of %s: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
	}
}
