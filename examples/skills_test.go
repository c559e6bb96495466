package examples_test

import (
	"testing"
)

// The commands in docs/skills.md do what the document says.
func TestSkillsDocument(t *testing.T) {
	document{file: "skills.md", enough: atLeast(20)}.run(t)
}
