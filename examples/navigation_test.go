package examples_test

import (
	"testing"
)

// The commands in docs/navigation.md do what the document says.
func TestNavigationDocument(t *testing.T) {
	document{
		file: "navigation.md", maps: "../../shared/data/maps",
		enough: func(commands int) bool { return commands == 8 },
	}.run(t)
}
