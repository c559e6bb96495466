package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// jsonSource is a channel of JSON messages, with or without a JSON schema. They
// describe themselves and arrive as Values; those of a Foxglove schema arrive as
// that message.
type jsonSource struct {
	schema *idf.Type // the Foxglove message, or nil
	proto  *protoSource
}

func newJSONSource(c *recording.Channel) (source, error) {
	s := &jsonSource{}
	if strings.HasPrefix(c.Type, "foxglove.") {
		if t, ok := idf.NewRegistry().Get(c.Type); ok {
			s.schema, s.proto = t, &protoSource{typ: t, def: t.Def()}
		}
	}
	return s, nil
}

func (s *jsonSource) mirror(string) (*idf.Type, error) {
	if s.schema != nil {
		return s.schema, nil
	}
	t, _ := idf.NewRegistry().Get(engram.ValueType)
	return t, nil
}

func (s *jsonSource) convert(target *idf.Type, rule *Rule, fields []string) (converter, error) {
	if s.schema != nil {
		inner, err := s.proto.convert(target, rule, fields)
		if err != nil {
			return nil, err
		}
		return &foxgloveJSON{schema: s.schema, inner: inner}, nil
	}
	if target.Name() != engram.ValueType || rule != nil && (rule.Split != "" || len(rule.Members) > 0 || len(rule.Set) > 0) {
		return nil, engram.Errorf(engram.Unsupported, "", "JSON messages without a known schema arrive as %s only", engram.ValueType)
	}
	return &jsonConverter{fields: fields}, nil
}

func (s *jsonSource) probe(fields []string, split string) (converter, error) {
	if s.schema != nil {
		inner, err := s.proto.probe(fields, split)
		if err != nil {
			return nil, err
		}
		return &foxgloveJSON{schema: s.schema, inner: inner}, nil
	}
	return &jsonConverter{fields: fields, probes: true}, nil
}

// maxJSON is the largest JSON message read; its form in memory is many times larger.
const maxJSON = 64 << 20

func parseJSON(data []byte) (any, error) {
	if len(data) > maxJSON {
		return nil, engram.Errorf(engram.Exhausted, "", "a JSON message of %d bytes; at most %d are read", len(data), maxJSON)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	v, err := decodeJSON(data)
	if err == nil {
		return v, nil
	}
	if plain, ok := withoutWords(data); ok {
		if v, err := decodeJSON(plain); err == nil {
			return withWords(v), nil
		}
	}
	return nil, engram.Errorf(engram.Corrupt, "", "the message is not JSON: %w", err)
}

// decodeJSON reads one JSON value, whose numbers are json.Number.
func decodeJSON(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF { // More takes a bracket for the end
		return nil, errors.New("it goes on after the value")
	}
	return v, nil
}

// word is a number that JSON does not have.
type word struct {
	text, number string
	value        float64
}

// words are what Python (NaN, Infinity), C (nan, inf) and others write for numbers that JSON does not
// have, and what stands for them while JSON is read. A word that another one begins with stands
// behind it; of those with one value the first is that of IDF.
var words = []word{
	{"-Infinity", "-1e999999999", math.Inf(-1)}, {"-infinity", "-1e999999999", math.Inf(-1)},
	{"-Inf", "-1e999999999", math.Inf(-1)}, {"-inf", "-1e999999999", math.Inf(-1)},
	{"Infinity", "1e999999999", math.Inf(1)}, {"infinity", "1e999999999", math.Inf(1)},
	{"Inf", "1e999999999", math.Inf(1)}, {"inf", "1e999999999", math.Inf(1)},
	{"NaN", "-0e999999999", math.NaN()}, {"nan", "-0e999999999", math.NaN()},
	{"-NaN", "-0e999999999", math.NaN()}, {"-nan", "-0e999999999", math.NaN()},
}

// withoutWords writes numbers for the words in JSON; ok is false if there are none.
func withoutWords(data []byte) (plain []byte, ok bool) {
	inString := false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case inString && c == '\\' && i+1 < len(data):
			plain = append(plain, c)
			i++
			c = data[i]
		case c == '"':
			inString = !inString
		case !inString && (c == '-' || c|' ' == 'i' || c|' ' == 'n'):
			j := slices.IndexFunc(words, func(w word) bool { return bytes.HasPrefix(data[i:], []byte(w.text)) })
			if j >= 0 {
				plain, ok = append(plain, words[j].number...), true
				i += len(words[j].text) - 1
				continue
			}
		}
		plain = append(plain, c)
	}
	return plain, ok
}

// withWords puts the numbers in their places that words stood for.
func withWords(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = withWords(e)
		}
	case []any:
		for i, e := range v {
			v[i] = withWords(e)
		}
	case json.Number:
		for _, w := range words {
			if v.String() == w.number {
				return w.value
			}
		}
	}
	return v
}

// jsonConverter makes Values of JSON.
type jsonConverter struct {
	fields  []string
	probes  bool // makes none
	outputs [1]output
}

func (c *jsonConverter) convert(data []byte) ([]output, error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	o := &c.outputs[0]
	*o = output{owned: true}
	for _, f := range c.fields {
		o.fields = append(o.fields, []byte(jsonText(jsonAt(v, f))))
	}
	for _, path := range []string{"header.stamp", "timestamp"} {
		if t, ok := jsonTime(jsonAt(v, path)); ok && t != 0 {
			o.time, o.timed = t, true
			break
		}
	}
	if c.probes {
		return c.outputs[:], nil
	}
	if o.bytes, err = idf.EncodeValue(plainJSON(v)); err != nil {
		return nil, err
	}
	return c.outputs[:], nil
}

// plainJSON turns JSON's numbers into int64 or uint64 where they are written as integers, else
// into float64. An integer beyond 64 bits stays as the text that it is: rounding it would be
// another one.
func plainJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = plainJSON(e)
		}
	case []any:
		for i, e := range v {
			v[i] = plainJSON(e)
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // beyond range it is infinite, which is as near as it gets
		if !strings.ContainsAny(v.String(), ".eE") && strconv.FormatFloat(f, 'f', -1, 64) != v.String() {
			return v.String()
		}
		return f
	}
	return v
}

func jsonAt(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func jsonText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// jsonTime reads a time as JSON messages of robots have it: seconds and
// nanoseconds, or a text.
func jsonTime(v any) (engram.Time, bool) {
	switch v := v.(type) {
	case string:
		t, err := engram.ParseTime(v)
		return t, err == nil
	case map[string]any:
		if len(v) != 2 {
			return 0, false
		}
		sec, ok := v["sec"].(json.Number)
		nsec, ok2 := v["nsec"].(json.Number)
		if !ok2 {
			nsec, ok2 = v["nanosec"].(json.Number)
		}
		s, err := strconv.ParseInt(sec.String(), 10, 64)
		n, err2 := strconv.ParseInt(nsec.String(), 10, 64)
		if !ok || !ok2 || err != nil || err2 != nil || s < 0 || s > math.MaxInt64/1_000_000_000-5 || n < 0 || n >= 4e9 {
			return 0, false
		}
		return engram.Time(s*1e9 + n), true
	}
	return 0, false
}

// foxgloveJSON makes the protobuf message of a Foxglove schema of its JSON form.
type foxgloveJSON struct {
	schema *idf.Type
	inner  converter
}

func (c *foxgloveJSON) convert(data []byte) ([]output, error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	j, err := json.Marshal(timesAsText(v))
	if err != nil {
		return nil, engram.Errorf(engram.Corrupt, "", "the message is not JSON: %w", err)
	}
	b, err := c.schema.FromJSON(j)
	if err != nil {
		return nil, err
	}
	return c.inner.convert(b)
}

// timesAsText writes times as IDF's JSON has them.
func timesAsText(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if t, ok := jsonTime(v); ok {
			return t.String()
		}
		for k, e := range v {
			v[k] = timesAsText(e)
		}
	case []any:
		for i, e := range v {
			v[i] = timesAsText(e)
		}
	case float64: // of a word
		for _, w := range words {
			if v == w.value || v != v && w.value != w.value {
				return w.text
			}
		}
	}
	return v
}
