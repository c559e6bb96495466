package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands in docs/attention.md do what the document says, with the driver in examples/attention.
func TestAttentionDocument(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(build(t, "attention"))+":"+os.Getenv("PATH"))
	document{file: "attention.md", enough: atLeast(15), mayFail: func(command string) bool {
		return strings.HasSuffix(command, "2>&1")
	}}.run(t)
}
