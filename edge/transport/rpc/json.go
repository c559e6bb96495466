package rpc

import (
	"context"
	"crypto/rand"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/payload"
)

// payloadTypes holds the types that JSON was asked of, so that each is taken from
// the service once: a type never changes under its name.
type payloadTypes struct {
	service engram.Types
	known   sync.Map // name → payload.Type
}

func (ts *payloadTypes) get(ctx context.Context, name string) (payload.Type, error) {
	if t, ok := ts.known.Load(name); ok {
		return t.(payload.Type), nil
	}
	def, err := ts.service.Type(ctx, name)
	if err != nil {
		return nil, err
	}
	t, err := payload.Parse(def)
	if err != nil {
		return nil, err
	}
	ts.known.Store(name, t)
	return t, nil
}

// encode returns the wire form of a payload given as JSON.
func (ts *payloadTypes) encode(ctx context.Context, name string, j *structpb.Value) ([]byte, error) {
	t, err := ts.get(ctx, name)
	if err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(j)
	if err != nil {
		return nil, engram.Errorf(engram.Invalid, "", "the payload is not JSON: %w", err)
	}
	return t.FromJSON(withNumbers(text))
}

// numberMark begins a string that stands for a number in a google.protobuf.Value, whose numbers are doubles and are written as
// integers where they can be. No caller knows it.
var numberMark = "number " + rand.Text() + " "

// marked is such a string in JSON.
var marked = regexp.MustCompile(`"` + numberMark + `([-+.0-9eE]+)"`)

// withNumbers writes the numbers in JSON as such that [keepNumbers] has made strings of.
func withNumbers(j []byte) []byte { return marked.ReplaceAll(j, []byte("$1")) }

// keepNumbers returns JSON with marked strings for the integers that a double may round, and for the doubles that would become
// integers; nil if there are none.
func keepNumbers(j []byte) (out []byte) {
	copied := 0
	for i := 0; i < len(j); {
		switch c := j[i]; {
		case c == '"':
			for i++; j[i] != '"'; i++ {
				if j[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || '0' <= c && c <= '9':
			start := i
			for i < len(j) && !separates(j[i]) {
				i++
			}
			text := string(j[start:i])
			if n, err := strconv.ParseFloat(text, 64); err == nil && n == math.Trunc(n) && (math.Abs(n) >= 1<<53 || strings.ContainsAny(text, ".eE")) {
				out = append(append(out, j[copied:start]...), `"`+numberMark+text+`"`...)
				copied = i
			}
		default:
			i++
		}
	}
	if copied == 0 {
		return nil
	}
	return append(out, j[copied:]...)
}

// show puts JSON in the place of the payloads' bytes.
func (ts *payloadTypes) show(ctx context.Context, s *engramv1.Snapshot) error {
	for _, in := range s.GetInstances() {
		p := in.GetPayload()
		t, err := ts.get(ctx, p.GetType())
		if err != nil {
			return err
		}
		text, err := t.JSON(p.GetData())
		if err != nil {
			return err
		}
		p.Json, p.Data = new(structpb.Value), nil
		if err := protojson.Unmarshal(text, p.Json); err != nil {
			return engram.Errorf(engram.Internal, p.GetType(), "the payload's JSON cannot be sent: %w", err)
		}
	}
	return nil
}

func (ts *payloadTypes) showNodes(ctx context.Context, nodes []*engramv1.ResultNode) error {
	for _, n := range nodes {
		for _, s := range n.GetSnapshots() {
			if err := ts.show(ctx, s); err != nil {
				return err
			}
		}
		if err := ts.showNodes(ctx, n.GetChildren()); err != nil {
			return err
		}
	}
	return nil
}
