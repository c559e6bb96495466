package examples_test

import (
	"testing"
)

// The commands in docs/mission.md do what the document says.
func TestMissionDocument(t *testing.T) {
	document{file: "mission.md", enough: atLeast(8)}.run(t)
}
