// Package logic is what a memory server offers to those who ask in logic: questions and rows.
// Whoever only asks imports no engine with it.
package logic

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/seed-301d4374/engram"
)

// Language is a language of questions.
type Language uint8

// The languages of questions.
const (
	Pattern Language = iota // triples with variables: ?room roomNumber "3001"
	Prolog
	Class // a class expression of OWL in Manchester syntax: its individuals
)

// Question is asked of what is known at a time, as of a belief.
type Question struct {
	Language Language
	Text     string
	JSON     json.RawMessage   // a pattern as JSON, in place of Text
	Rules    []Rules           // in Prolog
	Prefixes map[string]string // what name:local stands for, beside the common ones and those of documents
	At       *engram.Time      // what was so then; nil is now
	AsOf     *engram.Time      // as it was known then; nil is now
	Limits   Limits
	Rows     int    // how many are wanted at most; 0 is all
	Why      bool   // have each row say what it rests on
	After    []Mark // the world has all that was written up to these
	// Waits, unless it is nil, is called while a server answers others first, with how many wait before this one, and again
	// when that changes. It is called by who goes through the rows.
	Waits func(before int)
	// Notes, unless it is nil, is called with each line that the question prints, and with what of its names nothing is known,
	// by who goes through the rows.
	Notes func(line string)
}

// Rules are clauses in Prolog.
type Rules struct{ Name, Text string }

// Mark is a point in the writes of a world: an epoch of a server and the number of an update.
type Mark struct{ Epoch, Number uint64 }

// Limits bound what a question may take; 0 is the limit of who answers.
type Limits struct {
	Time   time.Duration
	Steps  int64 // goals, answers of facts, and terms that are looked at
	Memory int64 // bytes
}

// Row is an answer: the values of the variables that have one, in the order of the question.
type Row struct {
	Names       []string
	Values      []json.RawMessage // as ../../../shared/data/knowledge describes the values of rows
	Texts       []string          // as people read them
	Probability float64           // below 1 where it rests on what was computed from uncertain poses
	Why         []Reason          // what it rests on, if that was asked for
}

// Reason is why a row fulfils a part of its question.
type Reason struct {
	Part  string `json:"clause"` // of the question, as text
	Facts []Fact `json:"facts"`  // in the order of a proof
}

// Fact is a triple that is stated, or computed from poses and times: subject, property and object, as
// N-Triples writes them.
type Fact struct {
	Triple [3]string `json:"triple"`
	Links  []string  `json:"links,omitempty"` // IDs of the snapshots that say so, or that it is computed from
}

// MarshalJSON returns the row as an object: name to value.
func (r Row) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, name := range r.Names {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), r.Values[i]...)
	}
	return append(out, '}'), nil
}

// SetValues sets the values of the names from an object that has them.
func (r *Row) SetValues(object json.Marshaler) error {
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return engram.Errorf(engram.Internal, "", "a row is no object: %w", err)
	}
	r.Values = make([]json.RawMessage, len(r.Names))
	for i, name := range r.Names {
		r.Values[i] = values[name]
	}
	return nil
}

// Service answers questions. Errors have a code of package engram: Invalid says where in the
// question it is wrong, Exhausted which limit was passed. It is safe for concurrent use.
type Service interface {
	// Ask yields each distinct row as soon as it is found. An error is the last.
	// A question with more rows than were wanted ends with [ErrMore].
	Ask(ctx context.Context, q Question) iter.Seq2[Row, error]
}

// ErrMore says that a question has more rows than were wanted.
var ErrMore = engram.Errorf(engram.OutOfRange, "", "there are more rows than were wanted")
