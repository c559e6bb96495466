package urdf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// doc wraps the elements of a description; a and b are links, each on its own line.
func doc(elements ...string) string {
	return "<robot name=\"r\">\n<link name=\"a\"/>\n<link name=\"b\"/>\n" + strings.Join(elements, "\n") + "\n</robot>"
}

func joint(name, typ, parent, child, inner string) string {
	return fmt.Sprintf(`<joint name=%q type=%q><parent link=%q/><child link=%q/>%s</joint>`, name, typ, parent, child, inner)
}

const limit = `<limit lower="-1" upper="1" effort="1" velocity="1"/>`

func TestReadRefuses(t *testing.T) {
	fixed := joint("j", "fixed", "a", "b", "")
	three := `<link name="c"/>`
	for name, c := range map[string]struct {
		text string
		line int
		says string
	}{
		"zero axis":              {doc(joint("j", "continuous", "a", "b", `<axis xyz="0 0 0"/>`)), 4, `joint "j": axis [0 0 0]`},
		"revolute, no limits":    {doc(joint("j", "revolute", "a", "b", "")), 4, `joint "j": a revolute joint needs a <limit>`},
		"prismatic, no limits":   {doc(joint("j", "prismatic", "a", "b", "")), 4, `joint "j": a prismatic joint needs a <limit>`},
		"mimic of unknown":       {doc(joint("j", "continuous", "a", "b", `<mimic joint="x"/>`)), 4, `there is no joint "x"`},
		"mimic of itself":        {doc(joint("j", "continuous", "a", "b", `<mimic joint="j"/>`)), 4, `mimics itself`},
		"mimic of a fixed joint": {doc(three, fixed, joint("k", "continuous", "b", "c", `<mimic joint="j"/>`)), 6, `joint "j" is fixed`},
		"mimic cycle": {doc(three, joint("j", "continuous", "a", "b", `<mimic joint="k"/>`),
			joint("k", "continuous", "b", "c", `<mimic joint="j"/>`)), 5, `cycle`},
		"mimic of a cycle": {doc(three, `<link name="d"/>`, joint("i", "continuous", "c", "d", `<mimic joint="j"/>`),
			joint("j", "continuous", "a", "b", `<mimic joint="k"/>`), joint("k", "continuous", "b", "c", `<mimic joint="j"/>`)), 6, `cycle`},
		"mimic overflow": {doc(three, joint("j", "continuous", "a", "b", ""), `<link name="d"/>`,
			joint("k", "continuous", "b", "c", `<mimic joint="j" multiplier="1e308"/>`),
			joint("l", "continuous", "c", "d", `<mimic joint="k" multiplier="1e308"/>`)), 8, `overflow`},
		"two roots":                 {doc(), 3, `link "b": a second root: neither it nor "a"`},
		"two parents":               {doc(three, joint("j", "fixed", "a", "c", ""), joint("k", "fixed", "b", "c", "")), 6, `link "c" has two parents: joint "j" on line 5`},
		"loop":                      {doc(fixed, joint("k", "fixed", "b", "a", "")), 5, `loop`},
		"loop beside":               {doc(three, fixed, `<link name="d"/>`, joint("k", "fixed", "c", "d", ""), joint("l", "fixed", "d", "c", "")), 8, `a loop: link "c"`},
		"own parent":                {doc(joint("j", "fixed", "b", "b", "")), 4, `loop`},
		"duplicate link":            {doc(`<link name="a"/>`, fixed), 4, `link "a": the name is taken by the link on line 2`},
		"duplicate joint":           {doc(three, fixed, joint("j", "fixed", "a", "c", "")), 6, `joint "j": the name is taken by the joint on line 5`},
		"unknown parent":            {doc(joint("j", "fixed", "x", "b", "")), 4, `there is no link "x"`},
		"unknown child":             {doc(fixed, joint("k", "fixed", "a", "x", "")), 5, `there is no link "x"`},
		"bad number":                {doc(joint("j", "fixed", "a", "b", `<origin xyz="0 ${h} 0"/>`)), 4, `joint "j" <origin> xyz: "${h}" is not a finite number`},
		"NaN":                       {doc(joint("j", "fixed", "a", "b", `<origin rpy="0 NaN 0"/>`)), 4, `rpy: "NaN"`},
		"infinite limit":            {doc(joint("j", "revolute", "a", "b", `<limit upper="inf" effort="1" velocity="1"/>`)), 4, `<limit> upper: "inf"`},
		"no effort":                 {doc(joint("j", "revolute", "a", "b", `<limit velocity="1"/>`)), 4, `<limit>: it has no effort`},
		"no velocity":               {doc(joint("j", "continuous", "a", "b", `<limit effort="1"/>`)), 4, `<limit>: it has no velocity`},
		"empty dynamics":            {doc(joint("j", "continuous", "a", "b", `<dynamics/>`)), 4, `<dynamics>: it has neither`},
		"safety without k_velocity": {doc(joint("j", "continuous", "a", "b", `<safety_controller/>`)), 4, `no k_velocity`},
		"mimic of nothing":          {doc(joint("j", "continuous", "a", "b", `<mimic/>`)), 4, `it names no joint`},
		"hexadecimal":               {doc(joint("j", "fixed", "a", "b", `<origin xyz="0x1 0 0"/>`)), 4, `"0x1" is not a finite number`},
		"blank after a number":      {doc(joint("j", "fixed", "a", "b", "<origin xyz=\"0 0 0\t\"/>")), 4, `is not a finite number`},
		"no numbers":                {doc(joint("j", "fixed", "a", "b", `<origin xyz=""/>`)), 4, `holds 0 numbers`},
		"both rotations":            {strings.Replace(doc(joint("j", "fixed", "a", "b", `<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>`)), ">", " version='1.1'>", 1), 4, `both rpy and quat_xyzw`},
		"no quaternion":             {strings.Replace(doc(joint("j", "fixed", "a", "b", `<origin quat_xyzw="0 0 0 2"/>`)), ">", " version='1.1'>", 1), 4, `has the length 2`},
		"unknown version":           {"\n<robot name='r' version='2.0'/>", 2, `version "2.0"`},
		"no robot's name":           {"<robot><link name='a'/></robot>", 1, `<robot>: it has no name`},
		"name in Latin-1":           {"<robot name='r'>\n<link name='\xfc'/></robot>", 2, `is not UTF-8; declare the encoding`},
		"text after the robot":      {doc(fixed) + "\n\njunk", 7, `text without an XML element after it`},
		"two of an attribute":       {"<robot name='r'>\n<link name='a' name='b'/></robot>", 2, `attribute name stands there twice`},
		"wrong end":                 {"<robot name='r'>\n<link name='a'>\n</joint></robot>", 3, `</joint> ends <link> of line 2`},
		"two numbers":               {doc(joint("j", "fixed", "a", "b", `<origin xyz="0 1"/>`)), 4, `holds 2 numbers`},
		"xacro element":             {doc(fixed, `<xacro:macro name="m"/>`), 5, `<xacro:macro>: an unexpanded xacro element`},
		"xacro, declared":           {doc(fixed, `<x:if xmlns:x="http://www.ros.org/wiki/xacro"/>`), 5, `<xacro:if>`},
		"xacro in a link":           {doc(fixed, `<link name="c"><visual><xacro:box/></visual></link>`), 5, `<xacro:box>`},
		"unknown type":              {doc(joint("j", "ball", "a", "b", "")), 4, `type "ball" is none of fixed, revolute`},
		"no type":                   {doc(`<joint name="j"/>`), 4, `type "" is none of`},
		"no joint name":             {doc(`<joint type="fixed"/>`), 4, `<joint>: it has no name`},
		"no link name":              {doc(`<link/>`), 4, `<link>: it has no name`},
		"no parent":                 {doc(`<joint name="j" type="fixed"><child link="b"/></joint>`), 4, `no <parent`},
		"no child":                  {doc(`<joint name="j" type="fixed"><parent link="a"/></joint>`), 4, `no <child`},
		"no links":                  {"<robot name='r'/>", 1, `no link`},
		"not a robot":               {"<sdf/>", 1, `<sdf>: the outermost element must be <robot>`},
		"empty":                     {"", 1, "no XML element"},
		"not XML":                   {"ply\nformat", 1, "without an XML element"},
		"malformed":                 {"<robot name='r'>\n<link name=</robot>", 2, "not well-formed"},
		"cut":                       {"<robot name='r'>\n<link name='a'>", 2, "ends inside <link> of line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			robot, err := Read(strings.NewReader(c.text), "x.urdf")
			if robot != nil || !errors.Is(err, engram.Invalid) {
				t.Fatalf("got %v, %v; want an Invalid error", robot, err)
			}
			place := "x.urdf:"
			if c.line > 0 {
				place = fmt.Sprintf("x.urdf:%d:", c.line)
			}
			if !strings.HasPrefix(err.Error(), place) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %q; want it to begin with %q and to say %q", err, place, c.says)
			}
		})
	}
}

func TestReadValues(t *testing.T) {
	text := doc(
		`<link name="c"><visual><geometry><mesh filename="package://x/c.dae" scale="1 1 1"/></geometry></visual>
		<collision><geometry><mesh filename="package://x/c.dae"/></geometry></collision></link>`,
		`<link name="d"/>`,
		joint("slide", "prismatic", "a", "b", limit+`<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 3 4"/>`),
		joint("m1", "continuous", "b", "c", `<mimic joint="slide" multiplier="-2" offset="0.5"/>`),
		joint("m2", "continuous", "c", "d", `<mimic joint="m1" multiplier="3" offset="1"/>`),
		`<transmission name="t"><joint name="slide"><hardwareInterface/></joint></transmission>`,
		`<gazebo:thing xmlns:gazebo="g"><link/></gazebo:thing>`)
	r, err := Read(strings.NewReader(text), "x.urdf")
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "r" || r.Root != "a" || len(r.Links) != 4 || len(r.Joints) != 3 {
		t.Fatalf("read %+v", r)
	}
	if m := r.Links[2].Meshes; len(m) != 1 || m[0] != "package://x/c.dae" {
		t.Errorf("meshes %v", m)
	}
	s := r.Joints[0]
	if s.XYZ != [3]float64{1, 2, 3} || s.RPY != [3]float64{0.1, 0.2, 0.3} || *s.Limit != (Limit{-1, 1, 1, 1}) {
		t.Errorf("joint %+v", s)
	}
	if math.Abs(s.Axis[1]-0.6) > 1e-16 || math.Abs(s.Axis[2]-0.8) > 1e-16 {
		t.Errorf("axis %v is not normalised", s.Axis)
	}
	// m2 = 3·m1 + 1 = 3(-2·slide + 0.5) + 1
	if m := r.Joints[2].Mimic; *m != (Mimic{"slide", -6, 2.5}) {
		t.Errorf("the chain of mimics became %+v", *m)
	}
}

func TestReadRealRobots(t *testing.T) {
	dir := testkit.Shared(t, "urdf")
	for name, want := range map[string]struct {
		root                  string
		links, moving, mimics int
	}{
		"fetch":                {"base_link", 26, 15, 0},
		"g1":                   {"world", 40, 30, 0},
		"pr2":                  {"base_footprint", 82, 30, 10},
		"spot":                 {"body", 18, 12, 0},
		"tiago":                {"base_footprint", 78, 48, 0},
		"turtlebot3_waffle_pi": {"base_footprint", 11, 2, 0},
	} {
		f, err := os.Open(filepath.Join(dir, name+".urdf"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(f, name)
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		moving, mimics := 0, 0
		for _, j := range r.Joints {
			if j.Type != Fixed {
				moving++
			}
			if j.Mimic != nil {
				mimics++
			}
		}
		if r.Root != want.root || len(r.Links) != want.links || moving != want.moving || mimics != want.mimics {
			t.Errorf("%s: root %q, %d links, %d moving, %d mimics; want %+v", name, r.Root, len(r.Links), moving, mimics, want)
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestReadIsBounded(t *testing.T) {
	if _, err := read(endless{}, "zeros", 1<<16); !errors.Is(err, engram.Exhausted) {
		t.Errorf("an endless file gave %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(doc(joint("j", "revolute", "a", "b", limit+`<axis xyz="0 0 2"/>`)))
	f.Add(doc(joint("j", "continuous", "a", "b", `<mimic joint="j"/>`)))
	f.Add(doc(joint("j", "fixed", "a", "b", `<origin xyz="1 2 3" rpy="x"/>`)))
	f.Add("<robot name='r'><xacro:include/></robot>")
	f.Add("\ufeff<?xml version='1.1' encoding='ISO-8859-1'?><!-- -- --><!DOCTYPE r [<!ENTITY a 'b'>]> text <robot name='\xfc&#xfc;&#0;&x;&'><link name='a'/><![CDATA[<]]></robot><junk/></stray>")
	f.Add("<robot name='r' version='1.1'><link name='a'/><link name='b'/><joint name='j' type='fixed'><parent link='a'/><child link='b'/><origin quat_xyzw='0 0 0 1'/><limit effort='1' velocity='1'/><limit/></joint></robot>")
	f.Add("<robot><link name='a'>")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(strings.NewReader(text), "f")
		if err != nil {
			if r != nil || engram.CodeOf(err) == engram.Internal {
				t.Fatalf("refused with %v, %v", r, err)
			}
			return
		}
		// What is accepted is a tree of known links with usable axes.
		if len(r.Joints) != len(r.Links)-1 {
			t.Fatalf("%d links and %d joints are no tree", len(r.Links), len(r.Joints))
		}
		for _, j := range r.Joints {
			if j.Type != Fixed && j.Type != Floating {
				if n := math.Hypot(math.Hypot(j.Axis[0], j.Axis[1]), j.Axis[2]); math.Abs(n-1) > 1e-9 {
					t.Fatalf("axis %v", j.Axis)
				}
			}
		}
	})
}

// Versions that are known are read without a word, later ones of the same format with one.
func TestVersions(t *testing.T) {
	for version, want := range map[string]struct {
		minor, doubts int
		ok            bool
	}{
		"1.0": {0, 0, true}, "1.1": {1, 0, true}, "1.2": {2, 0, true}, "1.3": {3, 1, true}, "1.12": {12, 1, true},
		"0.9": {}, "2.0": {}, "1": {}, "1.": {}, "1.x": {}, "1.-1": {}, "": {}, "1.2.3": {},
	} {
		r, err := Read(strings.NewReader(`<robot name="r" version="`+version+`"><link name="a"/></robot>`), "f")
		if !want.ok {
			if engram.CodeOf(err) != engram.Invalid {
				t.Errorf("%q: %v", version, err)
			}
			continue
		}
		if err != nil || r.Minor != want.minor || len(r.Doubts) != want.doubts {
			t.Errorf("%q: %+v, %v", version, r, err)
		}
	}
	text, err := os.ReadFile(testkit.Shared(t, "reports", "version12.urdf"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Read(strings.NewReader(string(text)), "version12.urdf")
	if err != nil || len(r.Links) != 2 || len(r.Joints) != 1 || r.Joints[0].Limit.Upper != 1 || len(r.Doubts) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for version, ok := range map[string]bool{"1.1": true, "1.2": false} { // jerk means nothing before
		odd := strings.NewReplacer(`jerk="50"`, `jerk="much"`, "1.2", version).Replace(string(text))
		if _, err := Read(strings.NewReader(odd), "f"); (err == nil) != ok {
			t.Errorf("a limit that is no number in %s: %v", version, err)
		}
	}
}
