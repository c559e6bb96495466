package record

import (
	"slices"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// checkWire compares what is read quickly with what package idf reads, and reports whether it was.
func checkWire(t *testing.T, c *Codec, k Kind, payload []byte) bool {
	t.Helper()
	entity := rdf.NewIRI("urn:x")
	got, ok := c.layouts[k].triples(payload, entity, "s", &c.shared)
	if !ok {
		return false
	}
	v, err := c.types[k].Decode(payload)
	if err != nil {
		t.Fatalf("a payload is read that is none: %v", err)
	}
	d := reader{object: v.(map[string]any), entity: entity, scope: "s"}
	want := d.triples(k)
	got, want = unique(got), unique(want)
	slices.SortFunc(got, compareTriples)
	slices.SortFunc(want, compareTriples)
	if !slices.Equal(got, want) {
		t.Fatalf("%v is read as\n%v, not\n%v", k, got, want)
	}
	if v.(map[string]any)["document"] != nil {
		t.Fatal("a document was left out")
	}
	return true
}

// payloads are those of the published maps.
func payloads(t testing.TB, c *Codec, triples []rdf.Triple, each func(k Kind, payload []byte)) {
	t.Helper()
	records := Records(triples, "urn:none", Document{Source: "x"})
	for i := range records {
		p, err := c.Encode(&records[i])
		if err != nil {
			t.Fatal(err)
		}
		each(records[i].Kind, p.Bytes)
	}
}

func TestWireReadsAsIDF(t *testing.T) {
	c, _ := newCodec(t)
	quick, all := 0, 0
	for _, file := range mapFiles(t) {
		triples, _ := readFile(t, file, true)
		payloads(t, c, triples, func(k Kind, payload []byte) {
			all++
			if checkWire(t, c, k, payload) {
				quick++
			}
		})
	}
	if quick < all*9/10 {
		t.Errorf("%d of %d records are read quickly", quick, all)
	}
}

// FuzzDecode reads any bytes as records.
func FuzzDecode(f *testing.F) {
	s, err := newServer()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	c, err := NewCodec(f.Context(), s)
	if err != nil {
		f.Fatal(err)
	}
	payloads(f, c, things(1), func(k Kind, payload []byte) { f.Add(uint8(k), payload) })
	for k := range kindNames {
		f.Add(uint8(k), []byte{})
		f.Add(uint8(k), []byte{0x0a, 3, 'u', ':', 'x', 0x08, 1})
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		k := Kind(kind) % Kind(len(kindNames))
		checkWire(t, c, k, payload)
		id, err := engram.NewID(Memory, k.String(), "p", "urn:x")
		if err != nil {
			t.Fatal(err)
		}
		said, err := c.Decode(id, &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Bytes: payload})}})
		if err != nil && engram.CodeOf(err) != engram.Corrupt {
			t.Fatal(err)
		}
		said.Triples = unique(said.Triples)
		if p, err := c.Encode(&said.Record); err == nil { // what is read can be written, and read again
			again, err := c.decode(id, &engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(p)}}, "")
			if err != nil {
				t.Fatal(err)
			}
			slices.SortFunc(again.Triples, compareTriples)
			slices.SortFunc(said.Triples, compareTriples)
			if !slices.Equal(again.Triples, said.Triples) {
				t.Fatalf("%v comes back as %v", said.Triples, again.Triples)
			}
		}
	})
}
