package rpc

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// Every signed integer of 64 bits of the API is a time or, by its name, something else.
func TestEveryTimeOfTheAPIIsKnown(t *testing.T) {
	others := map[protoreflect.Name]bool{}
	for _, name := range strings.Fields("bytes bytes_before bytes_after max_count max_bytes max_payload samples pruned offset payload wire lag gather rows max_steps max_memory") {
		others[protoreflect.Name(name)] = true
	}
	spans := map[protoreflect.FullName]bool{
		"engram.v1.EpisodeMark.before": true, "engram.v1.EpisodeMark.after": true,
		"engram.v1.KeepRule.before": true, "engram.v1.KeepRule.after": true,
		"engram.v1.CopyRules.since":                true,
		"engram.v1.SnapshotSelector.Indices.first": true, "engram.v1.SnapshotSelector.Indices.last": true,
	}
	seen := 0
	var look func(protoreflect.MessageDescriptors)
	look = func(all protoreflect.MessageDescriptors) {
		for i := range all.Len() {
			look(all.Get(i).Messages())
			for j := range all.Get(i).Fields().Len() {
				f := all.Get(i).Fields().Get(j)
				if timeMembers[f.FullName()] {
					seen++
				}
				switch f.Kind() {
				case protoreflect.Int64Kind, protoreflect.Sfixed64Kind, protoreflect.Sint64Kind:
					other := others[f.Name()] || spans[f.FullName()] || strings.HasSuffix(string(f.Name()), "_nanos")
					if timeMembers[f.FullName()] == other {
						t.Errorf("%s: a time or not? timeMembers must say so", f.FullName())
					}
				}
			}
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("engram.v1", func(d protoreflect.FileDescriptor) bool {
		look(d.Messages())
		return true
	})
	if seen != len(timeMembers) {
		t.Errorf("%d of the %d times are members of messages", seen, len(timeMembers))
	}
}

// Times are written in one form and read in all.
func TestTimesInJSON(t *testing.T) {
	const ns, text = 1645189616492182001, "2022-02-18T13:06:56.492182001Z"
	leaf := func() *engramv1.ResultNode {
		return &engramv1.ResultNode{Name: `"time": "1"}`, Snapshots: []*engramv1.Snapshot{
			{Time: ns, Arrived: -1, Number: ns, Instances: []*engramv1.Instance{{Sent: proto.Int64(0)}}}, {Time: ns},
		}}
	}
	m := &engramv1.QueryResponse{
		Memories: []*engramv1.ResultNode{{Name: `\`, Children: []*engramv1.ResultNode{leaf(), leaf()}}},
		Missing:  []*engramv1.Missing{{Start: ns, End: 1<<63 - 1, Count: 5}},
		Copies:   []*engramv1.CopyUsed{{AsOf: -1 << 63, LagNanos: ns}},
	}
	codec := strictJSON{name: "json"}
	j, err := codec.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"time":"` + text + `"`, `"arrived":"1969-12-31T23:59:59.999999999Z"`, `"number":"1645189616492182001"`,
		`"sent":"1970-01-01T00:00:00.000000Z"`, `"start":"` + text + `"`, `"end":"2262-04-11T23:47:16.854775807Z"`,
		`"asOf":"1677-09-21T00:12:43.145224192Z"`, `"lagNanos":"1645189616492182001"`,
	} {
		if !strings.Contains(strings.ReplaceAll(string(j), `": `, `":`), want) {
			t.Errorf("%s is not in %s", want, j)
		}
	}
	var back engramv1.QueryResponse
	if err := codec.Unmarshal(j, &back); err != nil || !proto.Equal(m, &back) {
		t.Errorf("read back: %v, %v", &back, err)
	}
	plain, err := strictJSON{name: "json", nanoseconds: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var standard engramv1.QueryResponse
	if err := protojson.Unmarshal(plain, &standard); err != nil || !proto.Equal(m, &standard) {
		t.Errorf("protobuf's own JSON: %v, %v", &standard, err)
	}

	for _, form := range []string{
		`"` + text + `"`, `"2022-02-18T15:06:56.492182001+02:00"`, `"2022-02-18 13:06:56.492182001"`,
		`"1645189616492182001"`, `1645189616492182001`, `"2022\u002d02-18 13:06:56.492182001"`,
	} {
		for _, member := range []string{"atOrBefore", "at_or_before"} {
			var m engramv1.LatestRequest
			err := codec.Unmarshal([]byte(` { "entity" : "A/\"B" ,"`+member+`" : `+form+"\n}"), &m)
			if err != nil || m.GetAtOrBefore() != ns || m.GetEntity() != `A/"B` {
				t.Errorf("%s %s: %v, %v", member, form, &m, err)
			}
		}
	}
	for j, want := range map[string]string{
		`{"atOrBefore": "yesterday"}`:             `"yesterday" is not a time`,
		`{"atOrBefore": "9999-01-01T00:00:00Z"}`:  "outside the years",
		`{"atOrBefore": {"seconds": 1}}`:          "atOrBefore",
		`{"atOrBefore": "2022-02-18 13:06:56"`:    "not JSON",
		`{"entity": "2022-02-18", "nobody": "1"}`: `unknown field "nobody"`,
	} {
		var m engramv1.LatestRequest
		if err := codec.Unmarshal([]byte(j), &m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", j, err)
		}
	}
}

// Whatever comes is refused or read, and what is no time stays as it is.
func FuzzTimesInJSON(f *testing.F) {
	f.Add([]byte(`{"pattern":"A","snapshots":[{"nearest":{"time":"2022-02-18 13:06:56"}},{"range":{"start":5,"end":"7"}},{"at":[{}]}],"asOf":"1"}`))
	f.Add([]byte(` [ {"\"": [null, {"asOf":"x"}]} , -1.5e7 ]`))
	f.Fuzz(func(t *testing.T, j []byte) {
		codec := strictJSON{name: "json"}
		var m, again engramv1.QueryRequest
		var plain engramv1.QueryRequest
		standard := protojson.Unmarshal(j, &plain) == nil
		if err := codec.Unmarshal(j, &m); err != nil {
			if standard {
				t.Fatalf("protobuf's own JSON %s is refused: %v", j, err)
			}
			return
		}
		if standard && !proto.Equal(&m, &plain) {
			t.Fatalf("%s is %v, not %v", j, &m, &plain)
		}
		text, err := codec.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.Unmarshal(text, &again); err != nil || !proto.Equal(&m, &again) {
			t.Fatalf("%s is read back as %v: %v", text, &again, err)
		}
	})
}
