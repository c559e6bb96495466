package rpc

import (
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-301d4374/engram"
)

// timeMembers are the members of the API's messages that are points in time. All its
// other integers are numbers, sizes or spans of time.
var timeMembers = func() map[protoreflect.FullName]bool {
	all := map[protoreflect.FullName]bool{}
	for message, members := range map[protoreflect.FullName][]protoreflect.Name{
		"InfoResponse":             {"received", "sent"},
		"Instance":                 {"sent"},
		"Snapshot":                 {"time", "arrived"},
		"EntityUpdate":             {"time"},
		"SnapshotSelector.Nearest": {"time"},
		"SnapshotSelector.Range":   {"start", "end"},
		"SnapshotSelector":         {"at", "at_or_before"},
		"QueryRequest":             {"as_of"},
		"Missing":                  {"start", "end"},
		"CopyUsed":                 {"as_of"},
		"LatestRequest":            {"at_or_before"},
		"SubscribeRequest":         {"since"},
		"Update":                   {"arrived"},
		"Stats":                    {"first", "last"},
		"OnDisk":                   {"first", "last"},

		"NameEntry": {"silent_since", "last_known"},
		"NameCopy":  {"silent_since"},

		"TimeSpan":    {"start", "end"},
		"EpisodeMark": {"time"},

		"PoseQuestion":                {"time", "source_time"},
		"PoseInfo":                    {"target_time", "source_time", "oldest"},
		"AcquireRequest":              {"time"},
		"AcquireResponse":             {"time"},
		"AnchorKey":                   {"time"},
		"AnchorSpan":                  {"start", "end"},
		"EdgeCalibration":             {"start", "end"},
		"PoseChange":                  {"start", "end", "trans_at", "rot_at"},
		"PoseEdge":                    {"valid_start", "valid_end", "first", "last"},
		"PathRequest":                 {"time"},
		"ListLeftOutResponse.LeftOut": {"last"},
		"MovedAcquisition":            {"time"},

		"AskRequest": {"at", "as_of"},

		"WorldQuestion":    {"at", "as_of"},
		"WorldWriter":      {"now"},
		"WorldDiffRequest": {"from", "to"},
		"WorldItem":        {"time"},
		"WorldState":       {"time", "since"},
		"WorldBelief":      {"seen"},
		"WorldStatement":   {"time", "since"},
		"WorldMap":         {"created", "time"},

		"CopyShare":       {"latest", "before"},
		"CopyPosition":    {"arrived"},
		"CopyStatus":      {"since", "contact"},
		"CopyStatus.Lost": {"noticed"},
	} {
		for _, m := range members {
			all["engram.v1."+message+"."+protoreflect.FullName(m)] = true
		}
	}
	return all
}()

// timeShape says where the times are in the JSON of a message; nil: nowhere.
type timeShape struct {
	time    bool                  // it is one itself
	any     bool                  // it is any JSON, in which numbers stay as they are written
	members map[string]*timeShape // by JSON name and by name
}

// timesOf returns the shape of a message. Made has those that were begun, for messages
// that contain themselves.
func timesOf(d protoreflect.MessageDescriptor, made map[protoreflect.FullName]*timeShape) *timeShape {
	if s, ok := made[d.FullName()]; ok {
		return s
	}
	s := &timeShape{members: map[string]*timeShape{}}
	made[d.FullName()] = s
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		var member *timeShape
		switch {
		case f.IsMap():
		case timeMembers[f.FullName()]:
			member = &timeShape{time: true}
		case f.Message() != nil && f.Message().FullName() == "google.protobuf.Value":
			member = &timeShape{any: true}
		case f.Message() != nil:
			member = timesOf(f.Message(), made)
		}
		if member != nil {
			s.members[f.JSONName()], s.members[string(f.Name())] = member, member
		}
	}
	if len(s.members) == 0 {
		made[d.FullName()] = nil
		return nil
	}
	return s
}

// timesAsText writes the times of a message's JSON, which has them as nanoseconds, as
// RFC 3339.
func timesAsText(j []byte, s *timeShape) ([]byte, error) {
	return rewriteTimes(j, s, false, func(text string) (string, error) {
		ns, err := strconv.ParseInt(text, 10, 64)
		return string(engram.Time(ns).AppendRFC3339(nil)), err
	})
}

// timesAsNumbers writes the times of a message's JSON, which may have them as any text
// that [engram.ParseTime] reads, as nanoseconds.
func timesAsNumbers(j []byte, s *timeShape) ([]byte, error) {
	var valid json.RawMessage
	if err := json.Unmarshal(j, &valid); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return rewriteTimes(j, s, true, func(text string) (string, error) {
		t, err := engram.ParseTime(text)
		return strconv.FormatInt(int64(t), 10), err
	})
}

// timeWriter goes through valid JSON along a shape, and writes it again with other
// strings for its times.
type timeWriter struct {
	in      []byte
	pos     int
	out     []byte
	copied  int  // of in
	keep    bool // the numbers in any JSON that a google.protobuf.Value would change
	convert func(text string) (string, error)
	err     error // of the first time that is none
}

func rewriteTimes(j []byte, s *timeShape, keep bool, convert func(text string) (string, error)) ([]byte, error) {
	if s == nil {
		return j, nil
	}
	w := timeWriter{in: j, keep: keep, convert: convert}
	w.value(s, "")
	if w.err != nil || w.copied == 0 {
		return j, w.err
	}
	return append(w.out, w.in[w.copied:]...), nil
}

// value goes over a value, or over the values of a list. Name is the member's.
func (w *timeWriter) value(s *timeShape, name string) {
	switch c := w.next(); {
	case s == nil:
		w.skip()
	case s.any:
		w.any()
	case c == '[':
		for w.pos++; w.next() != ']'; w.comma() {
			w.value(s, name)
		}
		w.pos++
	case c == '{' && !s.time:
		for w.pos++; w.next() != '}'; w.comma() {
			start := w.pos + 1
			w.skip()
			key := string(w.in[start : w.pos-1])
			w.next() // the colon
			w.pos++
			w.value(s.members[key], key)
		}
		w.pos++
	case c == '"' && s.time:
		w.time(name)
	default:
		w.skip()
	}
}

// time writes a string as another one.
func (w *timeWriter) time(name string) {
	start := w.pos
	w.skip()
	var text string
	err := json.Unmarshal(w.in[start:w.pos], &text)
	if err == nil {
		text, err = w.convert(text)
	}
	if err != nil {
		if w.err == nil {
			w.err = engram.Errorf(engram.CodeOf(err), name, "%w", err)
		}
		return
	}
	w.out = append(append(w.out, w.in[w.copied:start]...), '"')
	w.out = append(append(w.out, text...), '"')
	w.copied = w.pos
}

// any goes over any JSON, and writes the numbers that a google.protobuf.Value would change as strings that [withNumbers] knows.
func (w *timeWriter) any() {
	start := w.pos
	w.skip()
	if !w.keep {
		return
	}
	if kept := keepNumbers(w.in[start:w.pos]); kept != nil {
		w.out = append(append(w.out, w.in[w.copied:start]...), kept...)
		w.copied = w.pos
	}
}

// next goes to the next byte that is no white space, and returns it.
func (w *timeWriter) next() byte {
	for {
		switch c := w.in[w.pos]; c {
		case ' ', '\t', '\n', '\r':
			w.pos++
		default:
			return c
		}
	}
}

// comma goes over the comma after a value, if there is one.
func (w *timeWriter) comma() {
	if w.next() == ',' {
		w.pos++
	}
}

// skip goes over the value that begins here.
func (w *timeWriter) skip() {
	for depth := 0; w.pos < len(w.in); {
		switch w.in[w.pos] {
		case '"':
			for w.pos++; w.in[w.pos] != '"'; w.pos++ {
				if w.in[w.pos] == '\\' {
					w.pos++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
		default: // a number or a word
			for w.pos+1 < len(w.in) && !separates(w.in[w.pos+1]) {
				w.pos++
			}
		}
		w.pos++
		if depth == 0 {
			return
		}
	}
}

// separates tells whether a byte ends a number or a word.
func separates(c byte) bool {
	switch c {
	case ',', ':', '}', ']', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}
