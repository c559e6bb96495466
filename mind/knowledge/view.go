package knowledge

import (
	"context"
	"iter"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A View is what is known for a time: what is stated, what follows from it, and what is
// computed when asked. Questions are asked of views.
type View struct {
	*Graph
	// Prefixes are those of the documents whose facts these are; nil is none but the common ones.
	Prefixes *Prefixes
	// At is the time that the view holds for; 0 is the present.
	At engram.Time
	// Computed has the properties that are computed when asked; nil is none.
	Computed Computed
	// Past returns the view of another time, as of the same belief; nil if only this time is
	// known.
	Past func(ctx context.Context, at engram.Time) (*View, error)
	// Links returns the IDs of the snapshots that say a triple, or that it is computed from;
	// nil if the facts are in no memory.
	Links func(t rdf.Triple) []engram.ID
}

// Computed has properties that are computed when asked, such as those that follow from poses
// and boxes. It is safe for concurrent use.
type Computed interface {
	// Properties yields their IRIs.
	Properties() iter.Seq[string]
	// Compute yields the triples of one of the properties, each once; a zero subject or object is
	// unbound. ok is false if the property is not computed.
	Compute(s rdf.Term, property string, o rdf.Term) (answers iter.Seq[Derived], ok bool)
}

// Derived is a triple that was computed.
type Derived struct {
	rdf.Triple
	// Probability is in (0, 1]; below 1 where poses are uncertain.
	Probability float64
}
