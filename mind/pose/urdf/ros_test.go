package urdf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// beyondROS are the reasons for which what ROS's parser accepts is refused; see the
// package comment.
var beyondROS = []string{
	"unexpanded xacro", "gives no direction", "two parents", "a loop", "there is no joint", "mimics itself",
	"form a cycle", "has no single value", "overflow", "it has no name", "it names no joint", "is not UTF-8",
}

// TestSameVerdictAsROS compares with what urdfdom 3.0.1 on TinyXML-2 9.0 said of
// mutated descriptions: how many links and joints and which root, or that it refused.
func TestSameVerdictAsROS(t *testing.T) {
	f, err := os.Open("testdata/ros.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	verdicts := map[bool]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		want, quoted, _ := strings.Cut(lines.Text(), "\t")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatal(err)
		}
		got := "refused"
		r, err := Read(strings.NewReader(text), "f")
		if err == nil {
			got = fmt.Sprintf("ok %d %d %s", len(r.Links), len(r.Joints), r.Root)
		} else if place, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "f:"), ":"); strings.Trim(place, "0123456789") != "" {
			t.Errorf("the error %q has no line", err)
		}
		verdicts[err == nil]++
		if got != want && !(err != nil && isBeyondROS(err)) {
			t.Errorf("ROS: %s, here: %s, %v\n%s", want, got, err, text)
		}
	}
	if verdicts[true] < 100 || verdicts[false] < 80 {
		t.Errorf("the verdicts are one-sided: %v", verdicts)
	}
}

func isBeyondROS(err error) bool {
	for _, reason := range beyondROS {
		if strings.Contains(err.Error(), reason) {
			return true
		}
	}
	return false
}

// TestReadAcceptsWhatROSAccepts has what is in the robot descriptions of the world and
// not in XML 1.0 or its schema. Each leaves the links where they are.
func TestReadAcceptsWhatROSAccepts(t *testing.T) {
	revolute := joint("j", "revolute", "a", "b", limit+`<origin xyz="1 2 3"/>`)
	plain := doc(revolute)
	for name, c := range map[string]struct {
		text   string
		doubts string // of what it says so
	}{
		"XML 1.1":                 {`<?xml version="1.1"?>` + plain, ""},
		"no version":              {`<?xml encoding="utf-8"?>` + plain, ""},
		"ISO-8859-1":              {`<?xml version="1.0" encoding="ISO-8859-1"?>` + "<!-- gr\xfcn -->" + plain, ""},
		"us-ascii":                {`<?xml version="1.0" encoding="us-ascii"?>` + plain, ""},
		"Latin-1, undeclared":     {"<!-- gr\xfcn -->" + plain, ""},
		"byte order mark":         {"\ufeff" + plain, ""},
		"blank lines first":       {"\n\n<?xml version='1.0'?>" + plain, ""},
		"default namespace":       {strings.Replace(plain, "<robot", `<robot xmlns="http://www.ros.org"`, 1), ""},
		"dashes in a comment":     {"<!-- --- arm --- -->" + plain, ""},
		"bare ampersand":          {doc(revolute, `<material name="black & white"/>`), ""},
		"less-than in a value":    {doc(revolute, `<gazebo x="a<b"/>`), ""},
		"unknown entity":          {doc(revolute, `<gazebo x="&deg;"/>`), ""},
		"document type":           {"<!DOCTYPE robot>" + plain, ""},
		"element after the robot": {plain + "<junk a='1'/>\n<!-- end -->", ""},
		"second robot":            {plain + plain, ""},
		"stray end tag":           {plain + "</robot> junk", ""},
		"element before":          {"<note/>" + plain, ""},
		"text before":             {"robot: " + plain, ""},
		"foreign element":         {doc(revolute, `<gazebo:x><joint name="j"/></gazebo:x>`), ""},
		"same limit twice":        {doc(joint("j", "revolute", "a", "b", limit+limit+`<origin xyz="1 2 3"/>`)), "a second <limit>"},
		"other limit":             {doc(joint("j", "revolute", "a", "b", limit+`<limit lower="x"/><origin xyz="1 2 3"/>`)), "a second <limit>"},
		"second origin":           {doc(joint("j", "revolute", "a", "b", limit+`<origin xyz="1 2 3"/><origin xyz="4 5 6"/>`)), "a second <origin>"},
		"lower above upper":       {doc(joint("j", "revolute", "a", "b", `<limit lower="2" upper="1" effort="1" velocity="1"/><origin xyz="1 2 3"/>`)), "its lower limit 2 is above the upper limit 1"},
		"axis without numbers":    {doc(joint("j", "revolute", "a", "b", limit+`<axis/><origin xyz="1 2 3"/>`)), "1 0 0 is taken"},
		"axis of a fixed joint":   {doc(joint("j", "fixed", "a", "b", `<axis xyz="none"/><origin xyz="1 2 3"/>`)), ""},
		"mimic of a fixed joint":  {doc(joint("j", "fixed", "a", "b", `<mimic joint="j"/><origin xyz="1 2 3"/>`)), "its <mimic> is left out"},
		"quaternion of 1.0":       {doc(joint("j", "fixed", "a", "b", `<origin xyz="1 2 3" quat_xyzw="0 0 1 0"/>`)), "quat_xyzw is left out"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Read(strings.NewReader(c.text), "f")
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Links) != 2 || len(r.Joints) != 1 || r.Joints[0].XYZ != [3]float64{1, 2, 3} || r.Joints[0].Quat != nil {
				t.Errorf("read %+v", r)
			}
			switch {
			case c.doubts == "" && len(r.Doubts) > 0:
				t.Errorf("doubts %v", r.Doubts)
			case c.doubts != "" && (len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0].Error(), c.doubts) || !strings.HasPrefix(r.Doubts[0].Error(), "f:4: ")):
				t.Errorf("doubts %v; want one of line 4 that says %q", r.Doubts, c.doubts)
			}
		})
	}
}

func TestNamesInOtherEncodings(t *testing.T) {
	for name, text := range map[string]string{
		"Latin-1":                   "<?xml version='1.0' encoding='ISO-8859-1'?><robot name='r'><link name='gr\xfcn'/></robot>",
		"UTF-8, declared otherwise": "<?xml version='1.0' encoding='ISO-8859-1'?><robot name='r'><link name='grün'/></robot>",
		"reference":                 "<robot name='r'><link name='gr&#xfc;n'/></robot>",
		"reference in Latin-1":      "<?xml version='1.0' encoding='ISO-8859-1'?><!-- \xfc --><robot name='r'><link name='gr&#xfc;n'/></robot>",
		"UTF-16, declared so":       wide("<?xml version='1.0' encoding='UTF-16'?><robot name='r'><link name='grün'/></robot>", true, 2, binary.LittleEndian),
		"UTF-16BE":                  wide("<?xml version='1.0' encoding='utf-16be'?><robot name='r'><link name='grün'/></robot>", true, 2, binary.BigEndian),
		"UTF-16, no mark":           wide("<robot name='r'><link name='grün'/></robot>", false, 2, binary.LittleEndian),
		"UTF-16BE, no mark":         wide("\n <robot name='r'><link name='grün'/></robot>", false, 2, binary.BigEndian),
		"UTF-32":                    wide("<robot name='r'><link name='grün'/></robot>", true, 4, binary.LittleEndian),
		"UTF-32BE, no mark":         wide("<robot name='r'><link name='grün'/></robot>", false, 4, binary.BigEndian),
	} {
		r, err := Read(strings.NewReader(text), "f")
		if err != nil || r.Root != "grün" || len(r.Doubts) > 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if r, err := Read(strings.NewReader(UTF8([]byte(text))), "f"); err != nil || r.Root != "grün" || len(r.Doubts) > 0 {
			t.Errorf("%s, as UTF-8: %+v, %v", name, r, err)
		}
	}
	for encoding, c := range map[string][2]string{"ISO-8859-15": {"\xa4\xfc", "€ü"}, "windows-1252": {"\x80\x9f\xfc", "€Ÿü"}} {
		r, err := Read(strings.NewReader("<?xml version='1.0' encoding='"+encoding+"'?><robot name='r'><link name='"+c[0]+"'/></robot>"), "f")
		if err != nil || r.Root != c[1] {
			t.Errorf("%s: %+v, %v", encoding, r, err)
		}
	}
}

// wide returns a text in UTF-16 or UTF-32, of so many bytes per unit, with the mark of the
// order of bytes.
func wide(text string, mark bool, bytes int, order binary.ByteOrder) string {
	if mark {
		text = "\ufeff" + text
	}
	var out []byte
	if bytes == 4 {
		for _, r := range text {
			out = append(out, 0, 0, 0, 0)
			order.PutUint32(out[len(out)-4:], uint32(r))
		}
		return string(out)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, 0, 0)
		order.PutUint16(out[len(out)-2:], u)
	}
	return string(out)
}

// An encoding that is not known is named: where it matters the text is refused, else it is
// doubtful.
func TestUnknownEncodings(t *testing.T) {
	for name, c := range map[string]struct{ text, refused, doubt string }{
		"KOI8-R":             {"<?xml version='1.0' encoding='KOI8-R'?><robot name='r'><link name='\xd2\xd5'/></robot>", "the encoding KOI8-R, which the file declares, is not known; convert it to UTF-8", ""},
		"ISO-8859-13":        {"<?xml version='1.0' encoding='ISO-8859-13'?><robot name='r'><link name='\xe0'/></robot>", "the encoding ISO-8859-13", ""},
		"none":               {"<robot name='r'><link name='\xfc'/></robot>", "declare the encoding", ""},
		"UTF-8, and is not":  {"<?xml version='1.0' encoding='UTF-8'?><robot name='r'><link name='\xfc'/></robot>", "nor what the file declares, UTF-8", ""},
		"UTF-16, and is not": {"<?xml version='1.0' encoding='UTF-16'?><robot name='r'><link name='\xfc'/></robot>", "nor what the file declares, UTF-16", ""},
		"UTF-16, cut off":    {wide("<robot name='r'><link name='a'/></robot>", true, 2, binary.LittleEndian) + "x", "text without an XML element after it", ""},
		"all ASCII":          {"<?xml version='1.0' encoding='klingon'?><robot name='r'><link name='a'/></robot>", "", `f:1: <?xml encoding>: the encoding "klingon" is not known; the text is read as UTF-8`},
		"in a remark":        {"<?xml version='1.0' encoding='KOI8-R'?><!-- \xd2 --><robot name='r'><link name='a'/></robot>", "", "KOI8-R"},
	} {
		r, err := Read(strings.NewReader(c.text), "f")
		switch {
		case c.refused != "":
			if err == nil || !strings.Contains(err.Error(), c.refused) || !isBeyondROS(err) && name != "UTF-16, cut off" {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0].Error(), c.doubt):
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// As UTF-8 a description is read as it is, whatever encoding it declares or has in places
// that are not read; and as UTF-8 it is text.
func TestUTF8(t *testing.T) {
	for name, c := range map[string]struct{ text, root string }{
		"Latin-1":                   {"<?xml version='1.0' encoding='ISO-8859-1'?><!-- \xe9 -->\n<robot name='r'><link name='gr\xfcn'/></robot>", "grün"},
		"windows-1252":              {"<?xml version='1.0' encoding='Windows-1252'?><robot name='r'><link name='gr\xfcn'/></robot>", "grün"},
		"UTF-8, declared otherwise": {"<?xml version='1.0' encoding='ISO-8859-1'?><robot name='r'><link name='grün'/></robot>", "grün"},
		"not declared, in a remark": {"<!-- \xe9 -->\n<robot name='r'><link name='grün'/></robot>", "grün"},
		"with a mark of order":      {"\ufeff<?xml version='1.0' encoding='ISO-8859-1'?><robot name='r'><link name='gr\xfcn'/></robot>", ""},
	} {
		before, err := Read(strings.NewReader(c.text), "f")
		if c.root != "" && (err != nil || before.Root != c.root) {
			t.Fatalf("%s: %+v, %v", name, before, err)
		}
		text := UTF8([]byte(c.text))
		if !utf8.ValidString(text) || strings.Count(text, "\n") != strings.Count(c.text, "\n") {
			t.Errorf("%s: %q", name, text)
		}
		if err != nil {
			continue
		}
		after, err := Read(strings.NewReader(text), "f")
		if err != nil || after.Root != before.Root {
			t.Errorf("%s: %+v, %v; want %+v", name, after, err, before)
		}
		if e, err := Elements([]byte(c.text), "f"); err != nil || e.Children[0].Attributes[0].Value != before.Root {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestQuaternionOfVersion11(t *testing.T) {
	text := strings.Replace(doc(joint("j", "fixed", "a", "b", `<origin quat_xyzw="0 0 0.6 0.8"/>`)), ">", ` version="1.1">`, 1)
	r, err := Read(strings.NewReader(text), "f")
	if err != nil || r.Joints[0].Quat == nil || *r.Joints[0].Quat != [4]float64{0, 0, 0.6, 0.8} {
		t.Fatalf("%+v, %v", r, err)
	}
}
