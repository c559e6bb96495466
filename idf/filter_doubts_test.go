package idf

import (
	"strings"
	"testing"
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
		`name`:                                    "is a string",
		`count`:                                   "is a int",
		`tags`:                                    "is a list",
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
