package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
)

// value draws JSON, with numbers as engines write them and as they might.
func value(t *rapid.T, depth int) string {
	text := rapid.Custom(func(t *rapid.T) string {
		s, err := json.Marshal(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "<&>", "\u2028", "ü", "_:b1", "1"})).Draw(t, "text"))
		if err != nil {
			t.Fatal(err)
		}
		return string(s)
	})
	number := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})\.[0-9]{1,20}([eE][+-]?[0-9]{1,4})?`),
		rapid.SampledFrom([]string{"1", "1.0", "-0", "-0.0", "1e400", "9007199254740992", "9007199254740993", "1700000000123456789", "18446744073709551616", "1e+22"}),
	)
	kinds := 3
	if depth > 0 {
		kinds = 5
	}
	switch rapid.IntRange(0, kinds).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(t, "word")
	case 1:
		return text.Draw(t, "text")
	case 2, 3:
		return number.Draw(t, "number")
	case 4:
		var all []string
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			all = append(all, value(t, depth-1))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	var all []string
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		all = append(all, text.Draw(t, "name")+":"+value(t, depth-1))
	}
	return "{" + strings.Join(all, ",") + "}"
}

// Any row comes as it was sent, through the bytes of its message.
func TestRowsComeUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := logic.Row{Probability: rapid.Float64Range(0, 1).Draw(t, "probability")}
		for i := range rapid.IntRange(0, 4).Draw(t, "names") {
			row.Names = append(row.Names, fmt.Sprint("v", i))
			row.Texts = append(row.Texts, rapid.String().Draw(t, "shown"))
			row.Values = append(row.Values, json.RawMessage(value(t, 3)))
		}
		for range rapid.IntRange(0, 2).Draw(t, "reasons") {
			row.Why = append(row.Why, logic.Reason{Part: rapid.String().Draw(t, "part"), Facts: []logic.Fact{{Triple: [3]string{"<s>", "<p>", `"1"`}, Links: []string{"Knowledge"}}}})
		}
		m, err := rowMessage(row)
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var come engramv1.KnowledgeRow
		if err := proto.Unmarshal(b, &come); err != nil {
			t.Fatal(err)
		}
		got, err := rowOf(&come)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Names, row.Names) || !slices.Equal(got.Texts, row.Texts) || got.Probability != row.Probability || !reflect.DeepEqual(got.Why, row.Why) {
			t.Fatalf("%+v came as %+v", row, got)
		}
		if !slices.EqualFunc(got.Values, row.Values, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Fatalf("%s came as %s", row.Values, got.Values)
		}
	})
}

// What has doubles only has no number that is another: it has its digits.
func TestNumbersAsDoubles(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "0.1": "0.1", "9007199254740992": "9007199254740992", "9007199254740993": `"9007199254740993"`, "1180591620717411303424": "1.1805916207174113e+21",
		"1180591620717411303425": `"1180591620717411303425"`, "1e400": `"1e400"`, `[18446744073709551615,{"a":-9223372036854775807}]`: `["18446744073709551615",{"a":"-9223372036854775807"}]`,
		`"9007199254740993"`: `"9007199254740993"`, "null": "null",
	} {
		v, err := doubles(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(v.AsInterface()); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
}

// A row that lacks exact values, as servers of earlier versions send it, is refused.
func TestRowsWithoutExactValues(t *testing.T) {
	m, err := rowMessage(logic.Row{Names: []string{"X"}, Texts: []string{"1"}, Values: []json.RawMessage{json.RawMessage("1")}})
	if err != nil {
		t.Fatal(err)
	}
	m.Json = nil
	if _, err := rowOf(m); err == nil || !strings.Contains(err.Error(), "earlier version") {
		t.Errorf("%v", err)
	}
	m.Json = []string{"1 2"}
	if _, err := rowOf(m); err == nil || !strings.Contains(err.Error(), "the value of X") {
		t.Errorf("%v", err)
	}
}
