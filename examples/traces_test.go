package examples_test

import (
	"testing"
)

// The commands in docs/traces.md do what the document says.
func TestTracesDocument(t *testing.T) {
	document{file: "traces.md", enough: atLeast(8)}.run(t)
}
