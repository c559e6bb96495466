package examples_test

import (
	"strings"
	"testing"
)

const knowledgeMaps = "../../shared/data/knowledge/maps"

// The commands in docs/knowledge.md do what the document says.
func TestKnowledgeDocument(t *testing.T) {
	document{
		file: "knowledge.md", maps: knowledgeMaps, enough: atLeast(20),
		mayFail: func(command string) bool { // it ends with 1 where it finds something
			return strings.HasPrefix(command, "engram knowledge check")
		},
	}.run(t)
}
