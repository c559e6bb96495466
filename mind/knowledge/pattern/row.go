package pattern

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// A Row is one answer. It is JSON as rows of Prolog's questions are: IRIs are strings, literals
// {"literal": …, "type": …}, and counts numbers; "probability" is there if it is below 1. The rows of one asking are used by one goroutine
// at a time, while the view's graph is not changed.
type Row struct {
	// Probability is the product of those of the computed triples that the row rests on, 1 if
	// there is none; of a count the greatest of what was counted.
	Probability float64

	c      *Compiled
	cursor *knowledge.Cursor
	view   *knowledge.View
	ids    []knowledge.ID // of all variables
	counts []int          // of columns
}

// Len returns the number of columns.
func (r Row) Len() int { return len(r.c.columns) }

// Name returns the name of a column.
func (r Row) Name(i int) string { return r.c.columns[i].name }

// Value returns the value of a column; the zero term if it has none, and of a count a whole
// number.
func (r Row) Value(i int) rdf.Term {
	t, _ := r.value(i)
	return t
}

// Get returns the value of the column with a name, the zero term if there is none.
func (r Row) Get(name string) rdf.Term {
	for i := range r.c.columns {
		if r.c.columns[i].name == name {
			return r.Value(i)
		}
	}
	return rdf.Term{}
}

func (r Row) value(i int) (t rdf.Term, isCount bool) {
	col := r.c.columns[i]
	if col.count {
		return rdf.NewTyped(strconv.Itoa(r.counts[i]), rdf.NSXSD+"integer"), true
	}
	if id := r.ids[col.slot]; id != 0 {
		return r.cursor.Term(id), false
	}
	return rdf.Term{}, false
}

// MarshalJSON returns the row as an object.
func (r Row) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	member := func(name string) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		writeText(&b, name)
		b.WriteByte(':')
	}
	for i := range r.c.columns {
		t, isCount := r.value(i)
		if t.IsZero() {
			continue
		}
		member(r.c.columns[i].name)
		switch {
		case isCount:
			b.WriteString(t.Value)
		case t.Kind == rdf.IRI:
			writeText(&b, t.Value)
		case t.Kind == rdf.Blank:
			writeText(&b, "_:"+t.Value)
		default:
			b.WriteString(`{"literal":`)
			writeText(&b, t.Value)
			if t.Type != "" {
				b.WriteString(`,"type":`)
				writeText(&b, t.Type)
			}
			if t.Lang != "" {
				b.WriteString(`,"lang":`)
				writeText(&b, t.Lang)
			}
			b.WriteByte('}')
		}
	}
	if r.Probability < 1 {
		member(probabilityName)
		p, err := json.Marshal(r.Probability)
		if err != nil {
			return nil, err
		}
		b.Write(p)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func writeText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string has a form in JSON, and a buffer takes it
	b.Truncate(b.Len() - 1)
}
