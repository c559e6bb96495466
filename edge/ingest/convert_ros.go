package ingest

import (
	"maps"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest/internal/rosmsg"
	"github.com/seed-301d4374/engram/edge/ingest/recording"
)

// rosSource is a channel of ROS messages with a known definition.
type rosSource struct {
	definition *rosmsg.Definition
	wire       rosmsg.Wire
}

func newROSSource(c *recording.Channel, v rosmsg.Version, w rosmsg.Wire) (source, error) {
	if c.SchemaEncoding == v.Format() {
		d, err := rosmsg.Parse(v, c.Type, string(c.Schema))
		if err != nil {
			return nil, err
		}
		return &rosSource{d, w}, nil
	}
	if v == rosmsg.ROS2 {
		if d, ok := rosmsg.Builtin(c.Type); ok {
			return &rosSource{d, w}, nil
		}
	}
	if c.SchemaEncoding == "" {
		return nil, engram.Errorf(engram.NotFound, c.Type, "the recording has no definition of the message and none is built in; it is kept as bytes")
	}
	return nil, engram.Errorf(engram.Unsupported, c.Type, "a definition in %q is not read; the message is kept as bytes", c.SchemaEncoding)
}

func (s *rosSource) mirror(suffix string) (*idf.Type, error) {
	md, err := s.definition.Descriptor(suffix)
	if err != nil {
		return nil, err
	}
	return idf.TypeOf(md, s.definition.Text, s.definition.Version.Format())
}

func (s *rosSource) convert(target *idf.Type, rule *Rule, fields []string) (converter, error) {
	o := rosmsg.Options{Taps: fields}
	if rule != nil {
		o.Split = rule.Split
		for _, from := range slices.Sorted(maps.Keys(rule.Members)) {
			t := rule.Members[from]
			o.Members = append(o.Members, rosmsg.Member{From: from, To: t.To, Values: t.Values, Text: conversions[t.Convert]})
		}
		var err error
		if o.Append, err = encodedMembers(target, rule.Set); err != nil {
			return nil, err
		}
	}
	plan, err := rosmsg.Compile(s.definition, target.Descriptor(), o)
	if err != nil {
		return nil, err
	}
	if rule != nil && len(rule.Set) == 0 && plan.Fills() == 0 {
		return nil, nothingFits(s.definition.Root.Name, target)
	}
	return &rosConverter{plan: plan, wire: s.wire}, nil
}

func (s *rosSource) probe(fields []string, split string) (converter, error) {
	plan, err := rosmsg.Compile(s.definition, nothing(), rosmsg.Options{Taps: fields, Split: split})
	if err != nil {
		return nil, err
	}
	return &rosConverter{plan: plan, wire: s.wire}, nil
}

type rosConverter struct {
	plan    *rosmsg.Plan
	wire    rosmsg.Wire
	tr      rosmsg.Transcoder
	outputs []output
	fields  [][]byte
}

func (c *rosConverter) convert(data []byte) ([]output, error) {
	outs, err := c.tr.Transcode(c.plan, c.wire, data)
	if err != nil {
		return nil, err
	}
	c.outputs, c.fields = c.outputs[:0], c.fields[:0]
	for i := range outs {
		o := &outs[i]
		first := len(c.fields)
		for _, tap := range o.Taps {
			text := tap.Text
			if tap.Kind != 0 {
				text = tap.Append(nil)
			}
			c.fields = append(c.fields, text)
		}
		c.outputs = append(c.outputs, output{bytes: o.Bytes, time: o.Stamp, timed: o.HasStamp, fields: c.fields[first:len(c.fields):len(c.fields)]})
	}
	return c.outputs, nil
}
