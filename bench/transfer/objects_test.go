package main

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// What the hand-written conversion makes is what the type says: the memory's check
// passes it, package idf reads the same members, and it converts back to the same.
func TestConversion(t *testing.T) {
	defs, err := compileTypes()
	if err != nil {
		t.Fatal(err)
	}
	types := idf.NewRegistry()
	for _, def := range defs {
		if _, err := types.Add(def); err != nil {
			t.Fatal(err)
		}
	}
	const link = "Ro/Pe/Pr/e1/1970-01-01 00:00:00.001234567/1"
	want := map[string]string{
		"simple":   `{"v":"7"}`,
		"moderate": `{"v":"7","s":"abcde","link":"` + link + `"}`,
	}
	for i := range kinds {
		k := &kinds[i]
		t.Run(k.name, func(t *testing.T) {
			o, back := k.make(), k.make()
			o.setNumber(7)
			if c, ok := o.(*complexObject); ok {
				for i := range c.Image.Data {
					c.Image.Data[i] = byte(i * 31)
				}
			}
			b := o.toIDF(nil)
			ty, ok := types.Get(k.typ)
			if !ok {
				t.Fatalf("there is no type %s", k.typ)
			}
			if err := ty.Check(b); err != nil {
				t.Fatal(err)
			}
			if err := back.fromIDF(b); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(o, back) {
				t.Errorf("%+v came back as %+v", o, back)
			}
			text, err := ty.JSON(b, idf.JSONOptions{SummarizeBytes: -1})
			if err != nil {
				t.Fatal(err)
			}
			if w, ok := want[k.name]; ok && string(bytes.Join(bytes.Fields(text), nil)) != string(bytes.Join(bytes.Fields([]byte(w)), nil)) {
				t.Errorf("as JSON %s instead of %s", text, w)
			}
			// Through package idf's own encoder, every member still there.
			again, err := ty.FromJSON(text)
			if err != nil {
				t.Fatal(err)
			}
			reread := k.make()
			if err := reread.fromIDF(again); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(o, reread) {
				t.Errorf("%+v came back through JSON as %+v", o, reread)
			}
			for n := range b {
				if err := back.fromIDF(b[:n]); err == nil && n > 0 && k.name == "simple" {
					t.Errorf("a payload cut to %d bytes passed", n)
				}
			}
		})
	}
}

// The number tells objects apart after they went through IDF.
func TestNumber(t *testing.T) {
	for i := range kinds {
		b := newBatch(&kinds[i], 3)
		for j, u := range b.commit(10).Updates {
			o := kinds[i].make()
			if err := o.fromIDF(u.Instances[0].Payload.Bytes); err != nil {
				t.Fatal(err)
			}
			if o.number() != int64(j) || u.Time != engram.Time(10+j) || u.Entity != kinds[i].entity {
				t.Errorf("%s: object %d has the number %d, the entity %v and the time %d", kinds[i].name, j, o.number(), u.Entity, u.Time)
			}
		}
	}
}
