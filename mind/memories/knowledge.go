package memories

import (
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	questions "github.com/seed-301d4374/engram/mind/knowledge/api"
	"github.com/seed-301d4374/engram/mind/knowledge/base"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

// questionLimits bound each question that a server answers.
var questionLimits = logic.Limits{Time: time.Minute, Memory: 128 * mib}

// Knowledge is what ontologies, documents and components say of classes, properties and individuals, as in OWL and
// RDF. An entity's name is an IRI, the provider is the document or component that says so.
// Package mind/knowledge/record turns triples into it and back. Its server answers questions in logic of
// all that is known, the world included; package mind/knowledge/base has how.
func Knowledge() server.Memory {
	const name = "Knowledge"
	answers := base.NewLocal(questionLimits)
	return server.Memory{
		Name:  name,
		Doc:   "ontologies, classes, properties and individuals: what is known in OWL and RDF",
		Types: typesIn("knowledge"),
		Segments: []engram.CoreSegment{
			logged(segment(name, "Ontology", "engram.knowledge.Ontology", engram.Bounds{MaxCount: 100, MaxBytes: 32 * mib})),
			logged(segment(name, "Class", "engram.knowledge.Class", engram.Bounds{MaxCount: 100, MaxBytes: 8 * mib})),
			logged(segment(name, "Property", "engram.knowledge.Property", engram.Bounds{MaxCount: 100, MaxBytes: 8 * mib})),
			// What was so at some time is asked long after it has changed.
			logged(segment(name, "Individual", "engram.knowledge.Individual", engram.Bounds{MaxCount: 1_000, MaxBytes: 8 * mib})),
		},
		Bounds: engram.Bounds{MaxBytes: 384 * mib, MaxCount: 1_000_000},
		// What an ontology says is so, however long ago it was said.
		KeepNewest: true,
		Hooks:      server.Hooks{Start: answers.Start, Run: answers.Run},
		Features:   []feature.Feature{questions.Feature(answers)},
	}
}
