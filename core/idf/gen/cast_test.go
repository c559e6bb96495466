package gen_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// castCase is a payload of one type that is read as another: what it is then, in JSON, or
// which words the error has.
type castCase struct {
	what     string
	from     string // XML of the members
	sent     string // JSON
	to       string // the type
	want     string
	mistakes []string
}

const castTarget = `<ObjectChild key='name'><String /></ObjectChild>
	<ObjectChild key='size'><Int /></ObjectChild>
	<ObjectChild key='weight'><Double optional='true' /></ObjectChild>
	<ObjectChild key='color'><lab::Color /></ObjectChild>
	<ObjectChild key='pose'><Pose /></ObjectChild>
	<ObjectChild key='parts'><List><lab::Part /></List></ObjectChild>
	<ObjectChild key='by_name'><Dict><Float /></Dict></ObjectChild>
	<ObjectChild key='link'><engram::Link /></ObjectChild>
	<ObjectChild key='any'><AnyObject /></ObjectChild>
	<ObjectChild key='grid'><List><List><Int /></List></List></ObjectChild>`

var castCases = []castCase{
	{"a part of the members", `<ObjectChild key='size'><Int /></ObjectChild>`, `{"size": 3}`, "lab.Cup", `{"size": 3}`, nil},
	{"more members, of other numbers", `<ObjectChild key='more'><Pose /></ObjectChild><ObjectChild key='name'><String /></ObjectChild>`,
		`{"more": {}, "name": "cup"}`, "lab.Cup", `{"name": "cup"}`, nil},
	{"a renamed member", `<ObjectChild key='title'><String /></ObjectChild>`, `{"title": "cup"}`, "lab.Cup", `{}`, nil},
	{"numbers that fit", `<ObjectChild key='size'><Double /></ObjectChild><ObjectChild key='weight'><Long /></ObjectChild><ObjectChild key='by_name'><Dict><Int /></Dict></ObjectChild>`,
		`{"size": 4, "weight": 5, "by_name": {"a": -7}}`, "lab.Cup", `{"size": 4, "weight": 5, "by_name": {"a": -7}}`, nil},
	{"a number that does not fit", `<ObjectChild key='size'><Long /></ObjectChild>`, `{"size": "9000000000"}`, "lab.Cup", "", []string{"size", "9000000000"}},
	{"a number with decimals", `<ObjectChild key='size'><Double /></ObjectChild>`, `{"size": 0.5}`, "lab.Cup", "", []string{"size", "0.5"}},
	{"an enumeration by key", `<ObjectChild key='color'><other::Color /></ObjectChild>`, `{"color": "Red"}`, "lab.Cup", `{"color": "Red"}`, nil},
	{"an enumeration by text", `<ObjectChild key='color'><String /></ObjectChild>`, `{"color": "Blue"}`, "lab.Cup", `{"color": "Blue"}`, nil},
	{"a key that is not there", `<ObjectChild key='color'><other::Color /></ObjectChild>`, `{"color": "Pink"}`, "lab.Cup", "", []string{"color", "Pink"}},
	{"an object for a text", `<ObjectChild key='name'><Pose /></ObjectChild>`, `{}`, "lab.Cup", "", []string{"name", "string"}},
	{"a text for a number", `<ObjectChild key='size'><String /></ObjectChild>`, `{"size": "3"}`, "lab.Cup", "", []string{"size", "string"}},
	{"a list for a dict", `<ObjectChild key='by_name'><List><Float /></List></ObjectChild>`, `{}`, "lab.Cup", "", []string{"by_name", "list"}},
	{"objects in lists", `<ObjectChild key='parts'><List><other::Part /></List></ObjectChild>`, `{"parts": [{"id": 1, "note": "x"}, {}]}`, "lab.Cup", `{"parts": [{"id": 1}, {}]}`, nil},
	{"a wrong kind below", `<ObjectChild key='parts'><List><other::Wrong /></List></ObjectChild>`, `{}`, "lab.Cup", "", []string{"parts", "id"}},
	{"a text for a link", `<ObjectChild key='link'><String /></ObjectChild>`, `{"link": "Object/Class/prior/cup"}`, "lab.Cup", `{"link": "Object/Class/prior/cup"}`, nil},
	{"anything from a number", `<ObjectChild key='any'><Double /></ObjectChild>`, `{"any": 2.5}`, "lab.Cup", `{"any": 2.5}`, nil},
	{"lists in lists", `<ObjectChild key='grid'><List><List><Long /></List></List></ObjectChild>`, `{"grid": [[1, 2], []]}`, "lab.Cup", `{"grid": [[1, 2], []]}`, nil},
	{"a pose", `<ObjectChild key='pose'><Pose /></ObjectChild>`, `{"pose": {"position": {"x": 1}}}`, "lab.Cup", `{"pose": {"position": {"x": 1}}}`, nil},
}

func castTypes(t *testing.T, pkg, members string) []*idf.Type {
	t.Helper()
	text := `<AronTypeDefinition><GenerateTypes>
		<IntEnum name='lab::Color'><EnumValue key='None' value='0'/><EnumValue key='Red' value='1'/><EnumValue key='Blue' value='2'/></IntEnum>
		<IntEnum name='other::Color'><EnumValue key='Grey' value='0'/><EnumValue key='Pink' value='3'/><EnumValue key='Red' value='7'/></IntEnum>
		<Object name='lab::Part'><ObjectChild key='id'><Long /></ObjectChild></Object>
		<Object name='other::Part'><ObjectChild key='note'><String /></ObjectChild><ObjectChild key='id'><Int /></ObjectChild></Object>
		<Object name='other::Wrong'><ObjectChild key='id'><String /></ObjectChild></Object>
		<Object name='` + pkg + `::Cup'>` + members + `</Object>
	</GenerateTypes></AronTypeDefinition>`
	folder := t.TempDir()
	writeFile(t, folder+"/cup.xml", text)
	return compileFolder(t, folder, "cup.xml")
}

// TestCasts has each language read payloads of other types.
func TestCasts(t *testing.T) {
	target := typeNamed(castTypes(t, "lab", castTarget), "lab.Cup")
	var requests []request
	for _, c := range castCases {
		sender := typeNamed(castTypes(t, "sender", c.from), "sender.Cup")
		b, err := sender.FromJSON([]byte(c.sent))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		requests = append(requests, request{to: c.to, b: b, from: sender})
	}
	// A Value is cast, too.
	value, _ := idf.NewRegistry().Get("engram.idf.v1.Value")
	b, err := idf.EncodeValue(map[string]any{"name": "cup", "parts": []any{map[string]any{"id": int64(3)}}, "extra": true})
	if err != nil {
		t.Fatal(err)
	}
	requests = append(requests, request{to: "lab.Cup", b: b, from: value})
	cases := append(castCases[:len(castCases):len(castCases)], castCase{what: "a Value", want: `{"name": "cup", "parts": [{"id": 3}]}`})
	for lang, program := range programs {
		t.Run(string(lang), func(t *testing.T) {
			answers, errs := ask(t, program(t), requests)
			for i, c := range cases {
				if c.want == "" {
					for _, word := range c.mistakes {
						if !strings.Contains(errs[i], word) {
							t.Errorf("%s: %q does not say %q", c.what, errs[i], word)
						}
					}
					continue
				}
				want, err := target.FromJSON([]byte(c.want))
				if err != nil {
					t.Fatal(err)
				}
				if errs[i] != "" || !reflect.DeepEqual(decode(t, target, answers[i]), decode(t, target, want)) {
					t.Errorf("%s: got %v (%s), want %s", c.what, decode(t, target, answers[i]), errs[i], c.want)
				}
			}
		})
	}
}

// TestHostilePayloads cuts, changes and nests payloads: each is read or refused, and no
// program ends.
func TestHostilePayloads(t *testing.T) {
	whole := payload(t, typeNamed(allTypes(t), "armarx.example.ExampleData"), filler{rnd: rand.New(rand.NewPCG(1, 2)), full: true})
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 4))
	n := testkit.Repeats(100, 5000)
	var requests []request
	add := func(b []byte) {
		requests = append(requests, request{to: "armarx.example.ExampleData", b: b})
	}
	for range n {
		add(whole[:rnd.IntN(len(whole))])
		b := append([]byte(nil), whole...)
		for range 1 + rnd.IntN(4) {
			b[rnd.IntN(len(b))] = byte(rnd.IntN(256))
		}
		add(b)
	}
	add([]byte{0x32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}) // a text of 2^64 bytes
	add([]byte{0xb2, 0x01, 6, 0x0a, 2, 0xff, 0x7f, 0x10, 1})                      // an array
	nested := []byte{}
	for range 150 { // Tree.left
		nested = append(append([]byte{0x0a}, varint(len(nested))...), nested...)
	}
	requests = append(requests, request{to: "odd.class.Tree", b: nested})
	for lang, program := range programs {
		t.Run(string(lang), func(t *testing.T) {
			_, errs := ask(t, program(t), requests)
			refused := 0
			for _, e := range errs {
				if e != "" {
					refused++
				}
			}
			if refused < n*2/3 || errs[len(errs)-1] == "" || errs[len(errs)-2] == "" || errs[len(errs)-3] == "" {
				t.Errorf("%d of %d refused; the last three: %q", refused, len(errs), errs[len(errs)-3:])
			}
		})
	}
}

func varint(n int) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}
