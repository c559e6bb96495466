package api

import (
	"encoding/json"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

// filled sets all that a value has to something that is not zero, different each time.
func filled(v reflect.Value, n *int) {
	*n++
	switch v.Interface().(type) {
	case pose.Cov:
		c := pose.ExactCov()
		c.S[0] = float64(*n)
		v.Set(reflect.ValueOf(c))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`"x"`)))
		return
	}
	switch v.Kind() {
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.String:
		v.SetString(string(rune('a' + *n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0), n)
		filled(v.Index(1), n)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), n)
		}
	default:
		panic("a " + v.Kind().String())
	}
}

// crosses reports what of a thing is another one after it went over the wire.
func crosses[T any, M proto.Message](t *testing.T, message func(*T) M, back func(M) T) {
	t.Helper()
	var things [2]T
	n := 0
	filled(reflect.ValueOf(&things[0]).Elem(), &n) // the other one is zero
	for i := range things {
		m := message(&things[i])
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		read := m.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(b, read); err != nil {
			t.Fatal(err)
		}
		if got := back(read.(M)); !reflect.DeepEqual(got, things[i]) {
			t.Errorf("%+v\nbecame\n%+v", things[i], got)
		}
	}
}

// All that answers say comes over the wire, and what they do not say stays unsaid.
func TestAnswersCrossTheWire(t *testing.T) {
	crosses(t, itemMessage, func(m *engramv1.WorldItem) answer.Item {
		it, err := itemOf(m)
		if err != nil {
			t.Fatal(err)
		}
		return *it
	})
	crosses(t, func(r *answer.Row) *engramv1.WorldRow {
		if r.Item == nil {
			r.Distance = -1 // not known
		}
		return rowMessages([]answer.Row{*r})[0]
	}, func(m *engramv1.WorldRow) answer.Row {
		r, err := rowOf(m)
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
	crosses(t, func(j *answer.Joint) *engramv1.WorldJoint { return jointMessages([]answer.Joint{*j}).Joints[0] }, jointOf)
	crosses(t, func(m *answer.Map) *engramv1.WorldMap { return mapMessages([]answer.Map{*m}).Maps[0] }, mapOf)
	crosses(t, componentMessage, componentOf)
	crosses(t, func(p *answer.Pipe) *engramv1.WorldPipe { return pipeMessages([]answer.Pipe{*p}).Pipes[0] }, pipeOf)
	crosses(t, func(c *answer.Cover) *engramv1.WorldCover { return coverMessages([]answer.Cover{*c}).Covers[0] }, coverOf)
	crosses(t, knownMessage, knownOf)
	crosses(t, func(x *answer.Thing) *engramv1.WorldThing {
		if x.Payload.Type != "" {
			x.Withdrawal = answer.Withdrawal{} // it is one of both
		}
		return thingMessage(x)
	}, func(m *engramv1.WorldThing) answer.Thing {
		x, err := thingOf(m)
		if err != nil {
			t.Fatal(err)
		}
		return x
	})
	crosses(t, func(w *answer.Withdrawal) *engramv1.WorldThing { return thingMessage(&answer.Thing{Withdrawal: *w}) },
		func(m *engramv1.WorldThing) answer.Withdrawal {
			x, _ := thingOf(m)
			return x.Withdrawal
		})
	crosses(t, func(d *answer.Difference) *engramv1.WorldDifference {
		return differenceMessages([]answer.Difference{*d}).Differences[0]
	}, differenceOf)
}
