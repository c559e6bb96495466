package idf

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
)

func TestJSON(t *testing.T) {
	ty := zoo(t)
	for _, c := range []struct {
		v    map[string]any
		want string
	}{
		{map[string]any{}, `{}`},
		{map[string]any{"total": uint64(math.MaxUint64), "far": math.MinInt64}, `{"total":"18446744073709551615","far":"-9223372036854775808"}`},
		{map[string]any{"ratio": 0.1, "joints": []float64{1, 0.1, 1e21, 1e-7, math.Inf(1), math.NaN()}}, `{"ratio":0.1,"joints":[1,0.1,1e+21,1e-07,"Infinity","NaN"]}`},
		{map[string]any{"ratio": math.Copysign(0, -1)}, `{"ratio":-0}`},
		{map[string]any{"mood": "glad"}, `{"mood":"glad"}`},
		{map[string]any{"mood": 9}, `{"mood":9}`},
		{map[string]any{"name": "a\"\\\n\x01½"}, `{"name":"a\"\\\n\u0001½"}`},
		{map[string]any{"raw": []byte{0xfb, 0xff}}, `{"raw":"+/8="}`},
		{map[string]any{"raw": bytes.Repeat([]byte{1}, 17)}, `{"raw":{"bytes":17,"sha256":"` + fmt.Sprintf("%x", sha256.Sum256(bytes.Repeat([]byte{1}, 17))) + `"}}`},
		{map[string]any{"rows": [][]map[string]any{{{"x": 1}}, {}}}, `{"rows":[[{"x":1}],[]]}`},
		{map[string]any{"names": map[string]string{}}, `{"names":{}}`},
		{map[string]any{"nested": map[string]any{"b": map[string]string{"y": "1", "x": "2"}, "a": map[string]string{}}}, `{"nested":{"a":{},"b":{"x":"2","y":"1"}}}`},
		{map[string]any{"numbered": map[int]string{10: "a", 9: "b"}}, `{"numbered":{"10":"a","9":"b"}}`},
		{map[string]any{"pair": []any{"l", nil}}, `{"pair":["l",null]}`},
		{map[string]any{"time": engram.Time(1645189616492182000), "took": "-1m0.05s"}, `{"time":"2022-02-18T13:06:56.492182Z","took":"-60.05s"}`},
		{map[string]any{"time": map[string]any{"seconds": int64(1e12), "nanos": 5}}, `{"time":{"seconds":"1000000000000","nanos":5}}`},
		{map[string]any{"seen_in": engram.MustID("A/B")}, `{"seen_in":"A/B"}`},
		{map[string]any{"matrix": [][]float64{{1, 0.5}, {0, math.NaN()}}}, `{"matrix":{"rows":2,"cols":2,"dtype":"float32","data":[1,0.5,0,"NaN"]}}`},
		{map[string]any{"array": &NDArray{Shape: []int64{2, 0}, DType: Uint8}}, `{"array":{"shape":[2,0],"dtype":"uint8","data":[]}}`},
		{map[string]any{"array": &NDArray{Shape: []int64{1}, DType: Uint64, Data: bytes.Repeat([]byte{255}, 8)}}, `{"array":{"shape":[1],"dtype":"uint64","data":["18446744073709551615"]}}`},
		{map[string]any{"any": nil}, `{"any":null}`},
		{map[string]any{"any": map[string]any{
			"int": 5, "int32": int32(5), "big": int64(1 << 60), "double": 1.0, "float": float32(0.1), "text": "5", "nan": math.NaN(),
			"time": engram.Time(0), "link": engram.MustID("A"), "none": nil, "list": []any{1, 2.5}, "yes": true,
		}}, `{"any":{"big":{"$int64":"1152921504606846976"},"double":1.0,"float":{"$float":0.1},"int":5,"int32":{"$int32":5},` +
			`"link":{"$link":"A"},"list":[1,2.5],"nan":{"$double":"NaN"},"none":null,"text":"5","time":{"$time":"1970-01-01T00:00:00.000000Z"},"yes":true}}`},
		{map[string]any{"any": map[string]any{"$odd": 1}}, `{"any":{"$dict":{"$odd":1}}}`},
		{map[string]any{"any": map[string]any{"$a": 1, "$b": 2}}, `{"any":{"$a":1,"$b":2}}`},
	} {
		got, err := ty.JSON(mustEncode(t, ty, c.v), JSONOptions{SummarizeBytes: 16})
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != c.want {
			t.Errorf("%v:\n%s\nnot\n%s", c.v, got, c.want)
		}
	}
}

func TestJSONAllMembers(t *testing.T) {
	ty := compiled(t, "test.M", `syntax = "proto3"; package test;
		enum E { ZERO = 0; }
		message M { string s = 1; int64 n = 2; E e = 3; repeated M m = 4; optional bool b = 5; bytes raw = 6; map<string, string> d = 7; M sub = 8; }`)
	got, err := ty.JSON(nil, JSONOptions{AllMembers: true})
	if want := `{"s":"","n":"0","e":"ZERO","m":[],"raw":"","d":{}}`; err != nil || string(got) != want {
		t.Errorf("%s, not %s (%v)", got, want, err)
	}
}

func TestFromJSONIsGenerous(t *testing.T) {
	ty := zoo(t)
	for _, c := range []struct{ from, want string }{
		{` { "count" : 5.0 , "total":"7", "far": 1e3 } `, `{"count":5,"total":"7","far":"1000"}`},
		{`{"ratio":"0.5","joints":["-Infinity", 12345678901234567890]}`, `{"ratio":0.5,"joints":["-Infinity",12345678901234567000]}`},
		{`{"mood":"MOOD_GLAD"}`, `{"mood":"glad"}`},
		{`{"mood":2}`, `{"mood":"MOOD_SAD"}`},
		{`{"seenIn":"A/B"}`, `{"seen_in":"A/B"}`},
		{`{"name":null,"points":null,"any":null,"note":null}`, `{"any":null}`},
		{`{"raw":"-_8"}`, `{"raw":"+/8="}`},
		{`{"time":"2022-02-18T13:06:56Z"}`, `{"time":"2022-02-18T13:06:56.000000Z"}`},
		{`{"time":1500}`, `{"time":"1970-01-01T00:00:00.000001500Z"}`},
		{`{"took":"1h"}`, `{"took":"3600s"}`},
		{`{"matrix":[[1,2],[3,4]]}`, `{"matrix":{"rows":2,"cols":2,"dtype":"float32","data":[1,2,3,4]}}`},
		{`{"matrix":{"data":[[1,2],[3,4]]}}`, `{"matrix":{"rows":2,"cols":2,"dtype":"float32","data":[1,2,3,4]}}`},
		{`{"array":{"dtype":"UINT8","data":[1,2]}}`, `{"array":{"shape":[2],"dtype":"uint8","data":[1,2]}}`},
		{`{"array":{"shape":[2,1],"dtype":"int16","data":"AQACAA=="}}`, `{"array":{"shape":[2,1],"dtype":"int16","data":[1,2]}}`},
		{`{"any":[1,1.0,1e2,12345678901234567890,-0,"x",{"$dict":{"$time":"x"}}]}`, `{"any":[1,1.0,100.0,{"$uint64":"12345678901234567890"},-0.0,"x",{"$dict":{"$time":"x"}}]}`},
		{`{"name":"\u00e9\ud83e\udd16\/"}`, `{"name":"é🤖/"}`},
		{`{"points":[]}`, `{}`},
		{"\ufeff" + `{"ratio":NaN,"joints":[Infinity,-Infinity, NaN]}`, `{"ratio":"NaN","joints":["Infinity","-Infinity","NaN"]}`},
		{`{"any":[NaN,{"a":-Infinity},"NaN"]}`, `{"any":[{"$double":"NaN"},{"a":{"$double":"-Infinity"}},"NaN"]}`},
	} {
		b, err := ty.FromJSON([]byte(c.from))
		if err != nil {
			t.Errorf("%s: %v", c.from, err)
			continue
		}
		if got, err := ty.JSON(b, JSONOptions{SummarizeBytes: -1}); err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s\nnot\n%s (%v)", c.from, got, c.want, err)
		}
	}
}

func TestFromJSONErrors(t *testing.T) {
	ty := zoo(t)
	for _, c := range []struct {
		json string
		code engram.Code
		want string
	}{
		{``, engram.Invalid, "not JSON at line 1, column 1: the text ends"},
		{"{\n  \"name\" \"x\"}", engram.Invalid, `not JSON at line 2, column 10: ":" must stand here`},
		{`{"name":"x",}`, engram.Invalid, "a key in quotes"},
		{`{"name":"x"} 5`, engram.Invalid, "something follows"},
		{`{"name":'x'}`, engram.Invalid, "a value must stand here"},
		{`{"name":"x","name":"y"}`, engram.Invalid, `column 13: the key "name" stands here for the second time`},
		{`{"name":"\ud800"}`, engram.Invalid, "half of a surrogate pair"},
		{`{"name":"\x"}`, engram.Invalid, "an escape that JSON does not know"},
		{"{\"name\":\"a\tb\"}", engram.Invalid, "control character"},
		{"{\"name\":\"\xff\"}", engram.Invalid, "not UTF-8"},
		{`{"name":"x`, engram.Invalid, "a string without an end"},
		{`{"count":01}`, engram.Invalid, "a value must stand here"},
		{`{"count":+1}`, engram.Invalid, "a value must stand here"},
		{`[1`, engram.Invalid, `"," or "]"`},
		{strings.Repeat("[", 1e6), engram.Invalid, "nested deeper than any payload"},
		{`[]`, engram.TypeMismatch, "acme.Zoo: expected an object (acme.Zoo), got a list of 0 items"},
		{`{"pose":{"positoin":{}}}`, engram.TypeMismatch, `member pose: foxglove.Pose has no member "positoin"; did you mean "position"?`},
		{`{"count":"five"}`, engram.TypeMismatch, `member count: expected a number (int32), got the string "five"`},
		{`{"count":1e99}`, engram.OutOfRange, "the number 1e99 does not fit"},
		{`{"joints":[1,1e999]}`, engram.TypeMismatch, "member joints[1]"},
		{`{"raw":"?"}`, engram.Invalid, `member raw: the string "?" is not base64`},
		{`{"raw":{"bytes":5,"sha256":"ab"}}`, engram.TypeMismatch, "is a summary of bytes, not the bytes"},
		{`{"points":[{},null]}`, engram.TypeMismatch, "member points[1]: expected an object (acme.Point), got null"},
		{`{"word":"a","place":{}}`, engram.Invalid, "member place: excludes word"},
		{`{"any":{"$tme":"x"}}`, engram.Invalid, `member any: "$tme" is not a tag of a Value`},
		{`{"any":{"a":{"$time":"x"}}}`, engram.Invalid, `member any["a"].$time: "x" is not a time`},
		{`{"any":1e999}`, engram.OutOfRange, "does not fit a double"},
		{`{"matrix":{"rows":2,"cols":2,"dtype":"float32","data":[1,2,3]}}`, engram.Invalid, "member matrix.data: the array has 12 bytes"},
		{`{"array":{"dtype":"float16","data":[1]}}`, engram.TypeMismatch, `member array.dtype: engram.idf.v1.DType has no value "float16"`},
		{`{"array":{"dtype":"uint8","data":[256]}}`, engram.OutOfRange, "member array.data[0]: the number 256 does not fit a uint8"},
		{`{"array":{"data":[1],"size":1}}`, engram.TypeMismatch, `member array: engram.idf.v1.NDArray has no member "size"`},
		{`{"array":` + strings.Repeat("[", 20) + "1" + strings.Repeat("]", 20) + `}`, engram.TypeMismatch, "member array"},
	} {
		_, err := ty.FromJSON([]byte(c.json))
		if engram.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s:\n%v\nnot %v: %s", c.json, err, c.code, c.want)
		}
	}
}

// TestParseJSONAgainstGo: what we take for JSON is what Go's own parser does, but for
// keys that stand twice, halves of surrogate pairs, and words for numbers that JSON does not have.
func TestParseJSONAgainstGo(t *testing.T) {
	for _, s := range []string{
		`null`, ` [1, -0.5e+3, true, false, {"a":[]}] `, `"\b\f\n\r\t\"\\\/"`, `-`, `1.`, `.5`, `1e`, `tru`, `nul`, `"`, `{"a"}`, `{,}`, `[,]`, `[1,]`, "\u00a0", `0x1`, `NaNa`, `nan`, `[Infinit]`, `--Infinity`, "1\ufeff",
	} {
		if _, err := parseJSON(s); (err == nil) != json.Valid([]byte(s)) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func FuzzFromJSON(f *testing.F) {
	types := fuzzTypes(f)
	j, err := zoo(f).JSON(zooPayload(f), JSONOptions{SummarizeBytes: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint8(0), j)
	f.Add(uint8(0), []byte(`{"any":{"$ndarray":{"shape":[1],"dtype":"int8","data":[1]}},"matrix":[[1,2]],"took":"1.5s"}`))
	f.Add(uint8(1), []byte(`{"a":[1,1.0,{"$time":"2022-02-18 13:06:56"},null]}`))
	f.Add(uint8(1), []byte(strings.Repeat(`[{"k":`, 40)))
	f.Fuzz(func(t *testing.T, which uint8, j []byte) {
		ty := types[int(which)%len(types)]
		b, err := ty.FromJSON(j)
		if err != nil {
			return
		}
		if err := ty.Check(b); err != nil && engram.CodeOf(err) != engram.TypeMismatch {
			t.Fatalf("what FromJSON wrote: %v", err)
		}
		first, err := ty.JSON(b, JSONOptions{SummarizeBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		again, err := ty.FromJSON(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if second, err := ty.JSON(again, JSONOptions{SummarizeBytes: -1}); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\nand read back\n%s (%v)", first, second, err)
		}
	})
}

func BenchmarkJSONImage(b *testing.B) {
	ty, payload := imageWithLink(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ty.JSON(payload, JSONOptions{SummarizeBytes: -1}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJSONJoints(b *testing.B) {
	ty := zoo(b)
	payload := mustEncode(b, ty, map[string]any{"joints": make([]float64, 43), "tags": make([]string, 43), "time": engram.Now()})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ty.JSON(payload, JSONOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
