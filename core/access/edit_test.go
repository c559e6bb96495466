package access

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

const someRules = `# The rules of the house.
rules:
  # The planner looks.
  - allow: [read, subscribe]
    to: planner
    on: Object

  # Guests look at less.
  - deny: read
    to: ["guest*", anonymous]   # all of them
    on: ['Vision/*/Bedroom', Speech]

# Gone.
revoked:
  - identity: old-laptop
    why: stolen
`

func TestEditKeepsWhatIsThere(t *testing.T) {
	text, err := AddRule([]byte(someRules), Rule{Actions: Write, To: []string{"*"}, On: []engram.Pattern{engram.MustPattern(`Object/~a'b`), engram.MustPattern("*")}})
	if err != nil {
		t.Fatal(err)
	}
	if text, err = AddRevocation(text, Revocation{Serial: "0a1f", Why: "no: longer", At: "2026-11-20"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n    on: ['Vision/*/Bedroom', Speech]\n  - allow: write\n    to: '*'\n    on: ['Object/~a''b', '*']\n\n# Gone.\n",
		"\n    why: stolen\n  - serial: '0a1f'\n    at: '2026-11-20'\n    why: 'no: longer'\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for len(p.Rules) > 1 { // the first ones, with what is between them left
		if text, err = RemoveRule(text, p.Rules[0].Line); err != nil {
			t.Fatal(err)
		}
		if p, err = Parse(text); err != nil {
			t.Fatal(err)
		}
	}
	if p.Rules[0].Actions != Write || len(p.Revoked) != 2 || !strings.Contains(string(text), "# Guests look at less.") {
		t.Errorf("left:\n%s", text)
	}
	if _, err := RemoveRule(text, 1); engram.CodeOf(err) != engram.NotFound {
		t.Error(err)
	}
	for _, empty := range []string{"", "rules:\n", "rules: []\n", "# nothing", "revoked: []"} {
		text, err := AddRule([]byte(empty), Rule{Actions: Forward, To: []string{"base"}})
		if err != nil || !strings.Contains(string(text), "rules:\n  - allow: forward\n    to: base\n") {
			t.Errorf("%q: %v\n%s", empty, err, text)
		}
	}
}

func TestParseSaysWhere(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"rules:\n  - allow: read\n    to: a\n    on: *", "YAML"},
		{"rules:\n  - allow: reed\n    to: a\n    on: A", `line 2: "reed": no action`},
		{"rules:\n  - allow: read\n    to: a", "line 2: the rule says not on what"},
		{"rules:\n  - allow: read\n    on: A", "line 2: the rule says not to whom"},
		{"rules:\n  - allow: read\n    to: a\n    on: A/B/C/D/E", `line 4: "A/B/C/D/E": a pattern has at most 4 levels`},
		{"rules:\n  - allow: read\n    deny: write\n    to: a\n    on: A", "line 3: a rule allows or denies"},
		{"rules:\n  - allow: forward\n    to: a\n    on: A", "line 2: forward is about no ID"},
		{"rules:\n  - allow: read\n    to: owner\n    on: A", "line 2: owner: the user whom the server runs as"},
		{"rules:\n  - allow: read\n    to: 'a b'\n    on: A", "no pattern of identities"},
		{"rules:\n  - {allow: read, to: a, on: A, at: home}", `line 2: a rule has`},
		{"rule:\n  - allow: read", `line 1: there are "rules" and "revoked"`},
		{"rules: 7", "line 1: a list is expected"},
		{"rules:\n - {allow: read, to: a, on: A}\nrules: []", "already defined"},
		{"revoked:\n  - why: lost", "line 2: a revocation names"},
		{"revoked:\n  - serial: xyz", "no serial"},
		{strings.Repeat("- ", 1000), "nested too deeply"},
		{strings.Repeat("[", 1000), "nested too deeply"},
		{"# " + strings.Repeat("]", 1000) + "\nrules: " + strings.Repeat("[", 1000), "nested too deeply"},
		{"rules: {\"" + strings.Repeat("]", 1000) + "\": " + strings.Repeat("[", 1000) + "}", "nested too deeply"},
	} {
		_, err := Parse([]byte(tt.text))
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "\n", " "), tt.want) {
			t.Errorf("%q:\n%v\nwant %s", tt.text, err, tt.want)
		}
	}
}

// Whatever the file, it is understood or refused; what is understood can be added to.
func FuzzParse(f *testing.F) {
	for _, text := range []string{someRules, "", "rules: []", "rules:\n- allow: all\n  to: '*'\n  on: '*'\n", "a: &b [*b]", "rules:\n  - allow: read\n    to: a\n    on: \"Object/~\\\\d+\"\n",
		"revoked: [{serial: 12:34}]", "rules:\n  - ? allow\n", "- - - -", "{", "%YAML 1.1\n---\nrules:\n...\n---\n", "rules:\n  - allow: |\n      read\n    to: >\n      a\n    on: A\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err != nil {
			if c := engram.CodeOf(err); c != engram.Invalid && c != engram.Exhausted {
				t.Fatalf("%v is %v", err, c)
			}
			return
		}
		if _, err := Compile(p); err != nil {
			t.Fatal(err)
		}
		more, err := AddRule(text, Rule{Actions: Read, To: []string{"somebody"}, On: []engram.Pattern{engram.MustPattern("A/B")}})
		if err != nil {
			return // not in a way that a program can change
		}
		again, err := Parse(more)
		if err != nil || len(again.Rules) != len(p.Rules)+1 {
			t.Fatalf("%v: %d rules, had %d\n%s", err, len(again.Rules), len(p.Rules), more)
		}
	})
}
