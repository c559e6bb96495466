package idf

import (
	"slices"
	"strings"
	"testing"
)

// Elements that may be null are shown plainly, by whatever looks into a payload.
func TestOptionalElements(t *testing.T) {
	text := xmlHead + `<Object name='n::O'>
		<ObjectChild key='ints'><List><Int optional='true'/></List></ObjectChild>
		<ObjectChild key='lists'><Dict><List optional='true'><Float/></List></Dict></ObjectChild>
		<ObjectChild key='links'><List><engram::Link shared_ptr='true'/></List></ObjectChild>
		</Object>` + xmlTail
	defs, err := CompileXML(memSource(map[string]string{"o.xml": text}), "o.xml")
	if err != nil {
		t.Fatal(err)
	}
	ty := parseAll(t, defs)["n.O"]
	const j = `{"ints":[1,null,0],"lists":{"a":[1.5],"b":null,"c":[]},"links":["Object/Class",null]}`
	b, err := ty.FromJSON([]byte(j))
	if err != nil {
		t.Fatal(err)
	}
	if err := ty.Check(b); err != nil {
		t.Error(err)
	}
	back, err := ty.JSON(b, JSONOptions{})
	if err != nil || string(back) != j {
		t.Errorf("JSON %s, %v; want %s", back, err, j)
	}
	v, err := ty.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	o := v.(map[string]any)
	if ints := o["ints"].([]any); len(ints) != 3 || ints[0] != int32(1) || ints[1] != nil || ints[2] != int32(0) {
		t.Errorf("ints are %v", ints)
	}
	if again, err := ty.Encode(v); err != nil || !slices.Equal(again, b) {
		t.Errorf("encoded again it is %x, %v; want %x", again, err, b)
	}
	cast, err := Cast(ty, b, ty)
	if err != nil || !slices.Equal(cast, b) {
		t.Errorf("cast to itself it is %x, %v; want %x", cast, err, b)
	}
	links, err := ty.Links(b)
	if err != nil || len(links) != 1 || links[0].Path != "links[0]" {
		t.Errorf("links %v, %v", links, err)
	}
	other, err := ty.FromJSON([]byte(strings.Replace(j, "null,0", "7,0", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if v, err = ty.Decode(other); err != nil || v.(map[string]any)["ints"].([]any)[1] != int32(7) {
		t.Errorf("with a number for null it is %v, %v", v, err)
	}
	if _, err := ty.FromJSON([]byte(`{"ints":[1,"x"]}`)); err == nil || !strings.Contains(err.Error(), "ints[1]") {
		t.Errorf("a string for a number or null: %v, want the member's path", err)
	}
	p, err := ty.Project([]string{"lists"})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = p.Apply(b); err != nil {
		t.Fatal(err)
	}
	if back, err := ty.JSON(b, JSONOptions{}); err != nil || string(back) != `{"lists":{"a":[1.5],"b":null,"c":[]}}` {
		t.Errorf("the lists alone are %s, %v", back, err)
	}
}
