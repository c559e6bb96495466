package idf

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

// What can be known to match no payload is said; what may match is not.
func TestFilterDoubts(t *testing.T) {
	ty := zoo(t)
	types := NewRegistry()
	value, _ := types.Get("engram.idf.v1.Value")
	for expr, want := range map[string]string{
		`name == "cup"`:             "",
		`count == 3.0 || ratio > 1`: "",
		`confidence < 0.2`:          "",
		`ok`:                        "",
		`nested.a.b`:                "", // who knows
		`pose.position.z > 1.0`:     "",
		`payload.pose.position.x < 1.0 && child.child.ok`: "",
		`child.ok`:                                "",
		`any.what.ever`:                           "",
		`pair.x`:                                  "",
		`points.exists(p, p.zz > 1.0)`:            "",
		`points.exists(pose, pose.label)`:         "", // which is no member there
		`has(pose.nothing)`:                       "",
		`pose.positon.z > 1.0`:                    `no member pose.positon, nor has any other type that it is asked of; did you mean "position"?`,
		`payload.pose.positon.z > 1.0`:            "no member pose.positon,",
		`payload.nam == "cup"`:                    "no member nam,",
		`child.child.nam == "x"`:                  "no member child.child.nam,",
		`name.first == "x"`:                       "no member name.first,",
		`pose.position.z`:                         "is a double",
		`child.name`:                              "is a string",
		`tags.exists(t, t == "a")`:                "",
		`has(payload.nothing)`:                    "",
		`mood == "glad" && took > duration("1s")`: "",
		`nam == "cup"`:                            `no member nam, nor has any other type that it is asked of; did you mean "name"?`,
		`confidense < 0.2`:                        `did you mean "confidence"?`,
		`ok && colour == "red"`:                   "no member colour",
		// CEL decides without what fails.
		`name == "x" || colour == "red"`:                     "",
		`!has(payload.nam) || payload.nam == "x"`:            "",
		`has(payload.nam) ? payload.nam == "x" : ok`:         "",
		`has(payload.nam) && payload.nam == "x"`:             "no member nam,",
		`nam == "x" || payload.colour == "red"`:              "no member nam, colour,",
		`!(ok && nam == "x")`:                                "", // where it is not ok
		`!(ok || nam == "x")`:                                "no member nam,",
		`ok ? nam == "x" : payload.colour == "red"`:          "no member nam, colour,",
		`(nam == "x" ? ok : name == "y") || 1 == size(nam)`:  "no member nam,",
		`[nam, "x"].exists(n, n == name)`:                    "no member nam,",
		`{"a": nam}.a == "x"`:                                "no member nam,",
		`tags.exists(t, t == nam)`:                           "no member nam,",
		`tags.all(t, t == nam)`:                              "", // where there is none
		`tags.filter(t, t == nam).size() == 0`:               "",
		`points.exists(payload, payload.zz > 1.0)`:           "", // which is no member of the whole
		`tags.exists(t, tags.exists(u, t == u && nam == t))`: "no member nam,",
		`payload.confidence < 0.5`:                           "no member confidence, nor has any other type that it is asked of",
		`payload.confidense < 0.5`:                           "no member confidense, nor has any other type that it is asked of",
		`name`:                                               "is a string",
		`count`:                                              "is a int",
		`tags`:                                               "is a list",
	} {
		err := compileFilter(t, expr).Doubts([]*Type{ty})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v; it may match", expr, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v; want %q", expr, err, want)
		}
		if err := compileFilter(t, expr).Doubts([]*Type{ty, value}); err != nil {
			t.Errorf("%s of anything: %v", expr, err)
		}
		if err := compileFilter(t, expr).Doubts(nil); err != nil {
			t.Errorf("%s of nothing: %v", expr, err)
		}
	}
}

// What is said to match nothing matches nothing, whatever a payload has; and below payload nothing is proposed that stands
// beside it.
func TestFilterDoubtsAreRight(t *testing.T) {
	ty := zoo(t)
	absent := `payload.nam == "x"`
	parts := []string{absent, "!has(payload.nam)", "ok", "true", `tags.exists(t, t == nam)`, `tags.all(t, t != nam)`, "colour"}
	var all []string
	for _, a := range parts {
		all = append(all, a, "!("+a+")")
		for _, b := range parts {
			all = append(all, a+" && "+b, a+" || "+b, "!("+a+") || !("+b+")", a+" ? "+b+" : "+absent, a+" ? "+absent+" : "+b)
		}
	}
	doubted := 0
	for _, expr := range all {
		f := compileFilter(t, expr)
		if f.Doubts([]*Type{ty}) == nil {
			continue
		}
		doubted++
		for _, v := range []map[string]any{{}, {"ok": true}, {"ok": true, "tags": []any{"a", "b"}}, {"tags": []any{"a"}}} {
			s := engram.Snapshot{Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: ty.Name(), Bytes: mustEncode(t, ty, v)})}}
			if f.Match(ty, &s, 0) {
				t.Errorf("%s matches %v: %v", expr, v, f.Doubts([]*Type{ty}))
			}
		}
	}
	if doubted < 40 || doubted == len(all) {
		t.Errorf("%d of %d are doubted", doubted, len(all))
	}
	for _, expr := range []string{"payload.confidence < 0.5", "payload.confidense < 0.5"} {
		if err := compileFilter(t, expr).Doubts([]*Type{ty}); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v", expr, err)
		}
	}
}

// Of some types those extend another that have all of its members.
func TestExtending(t *testing.T) {
	one := compiled(t, "acme.One", `syntax = "proto3"; package acme; message One { int32 n = 1; }`)
	more := compiled(t, "acme.More", `syntax = "proto3"; package acme; message More { int32 n = 1; int32 extra = 2; }`)
	other := compiled(t, "acme.Other", `syntax = "proto3"; package acme; message Other { int32 extra = 2; }`)
	if got := Extending([]*Type{other, more, one}, []*Type{one}); !slices.Equal(got, []*Type{more, one}) {
		t.Errorf("%v", got)
	}
	if got := Extending([]*Type{one}, nil); len(got) > 0 {
		t.Errorf("of nothing: %v", got)
	}
}
