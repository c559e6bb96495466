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
		"lower above upper":      {doc(joint("j", "revolute", "a", "b", `<limit lower="2" upper="1"/>`)), 4, `joint "j": its lower limit 2 is above the upper limit 1`},
		"revolute, no limits":    {doc(joint("j", "revolute", "a", "b", "")), 4, `joint "j": a revolute joint needs a <limit>`},
		"prismatic, no limits":   {doc(joint("j", "prismatic", "a", "b", "")), 4, `joint "j": a prismatic joint needs a <limit>`},
		"mimic of unknown":       {doc(joint("j", "continuous", "a", "b", `<mimic joint="x"/>`)), 4, `there is no joint "x"`},
		"mimic of itself":        {doc(joint("j", "continuous", "a", "b", `<mimic joint="j"/>`)), 4, `mimics itself`},
		"mimic of a fixed joint": {doc(three, fixed, joint("k", "continuous", "b", "c", `<mimic joint="j"/>`)), 6, `joint "j" is fixed`},
		"fixed mimic":            {doc(joint("j", "fixed", "a", "b", `<mimic joint="j"/>`)), 4, `cannot mimic`},
		"mimic cycle": {doc(three, joint("j", "continuous", "a", "b", `<mimic joint="k"/>`),
			joint("k", "continuous", "b", "c", `<mimic joint="j"/>`)), 5, `cycle`},
		"mimic of a cycle": {doc(three, `<link name="d"/>`, joint("i", "continuous", "c", "d", `<mimic joint="j"/>`),
			joint("j", "continuous", "a", "b", `<mimic joint="k"/>`), joint("k", "continuous", "b", "c", `<mimic joint="j"/>`)), 6, `cycle`},
		"mimic overflow": {doc(three, joint("j", "continuous", "a", "b", ""), `<link name="d"/>`,
			joint("k", "continuous", "b", "c", `<mimic joint="j" multiplier="1e308"/>`),
			joint("l", "continuous", "c", "d", `<mimic joint="k" multiplier="1e308"/>`)), 8, `overflow`},
		"two roots":       {doc(), 3, `link "b": a second root: neither it nor "a"`},
		"two parents":     {doc(three, joint("j", "fixed", "a", "c", ""), joint("k", "fixed", "b", "c", "")), 6, `link "c" has two parents: joint "j" on line 5`},
		"loop":            {doc(fixed, joint("k", "fixed", "b", "a", "")), 5, `loop`},
		"loop beside":     {doc(three, fixed, `<link name="d"/>`, joint("k", "fixed", "c", "d", ""), joint("l", "fixed", "d", "c", "")), 8, `a loop: link "c"`},
		"own parent":      {doc(joint("j", "fixed", "b", "b", "")), 4, `loop`},
		"duplicate link":  {doc(`<link name="a"/>`, fixed), 4, `link "a": the name is taken by the link on line 2`},
		"duplicate joint": {doc(three, fixed, joint("j", "fixed", "a", "c", "")), 6, `joint "j": the name is taken by the joint on line 5`},
		"unknown parent":  {doc(joint("j", "fixed", "x", "b", "")), 4, `there is no link "x"`},
		"unknown child":   {doc(fixed, joint("k", "fixed", "a", "x", "")), 5, `there is no link "x"`},
		"bad number":      {doc(joint("j", "fixed", "a", "b", `<origin xyz="0 ${h} 0"/>`)), 4, `joint "j" <origin> xyz: "${h}" is not a finite number`},
		"NaN":             {doc(joint("j", "fixed", "a", "b", `<origin rpy="0 NaN 0"/>`)), 4, `rpy: "NaN"`},
		"infinite limit":  {doc(joint("j", "revolute", "a", "b", `<limit upper="inf"/>`)), 4, `<limit> upper: "inf"`},
		"two numbers":     {doc(joint("j", "fixed", "a", "b", `<origin xyz="0 1"/>`)), 4, `holds 2 numbers`},
		"xacro element":   {doc(fixed, `<xacro:macro name="m"/>`), 5, `<xacro:macro>: an unexpanded xacro element`},
		"xacro, declared": {doc(fixed, `<x:if xmlns:x="http://www.ros.org/wiki/xacro"/>`), 5, `<xacro:if>`},
		"xacro in a link": {doc(fixed, `<link name="c"><visual><xacro:box/></visual></link>`), 5, `<xacro:box>`},
		"unknown type":    {doc(joint("j", "ball", "a", "b", "")), 4, `type "ball" is none of fixed, revolute`},
		"no type":         {doc(`<joint name="j"/>`), 4, `type "" is none of`},
		"no joint name":   {doc(`<joint type="fixed"/>`), 4, `<joint>: it has no name`},
		"no link name":    {doc(`<link/>`), 4, `<link>: it has no name`},
		"no parent":       {doc(`<joint name="j" type="fixed"><child link="b"/></joint>`), 4, `no <parent`},
		"no child":        {doc(`<joint name="j" type="fixed"><parent link="a"/></joint>`), 4, `no <child`},
		"second origin":   {doc(joint("j", "fixed", "a", "b", "<origin/><origin/>")), 4, `a second <origin>`},
		"no links":        {"<robot name='r'/>", 1, `no link`},
		"not a robot":     {"<sdf/>", 1, `<sdf>: the outermost element must be <robot>`},
		"empty":           {"", 0, "no XML element"},
		"not XML":         {"ply\nformat", 0, "no XML element"},
		"malformed":       {"<robot>\n<link name=</robot>", 2, "not well-formed"},
		"cut":             {"<robot>\n<link name='a'>", 2, ""},
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
	const dir = "../../../shared/data/urdf"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the robot descriptions are not here: %v", err)
	}
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
	f.Add("<robot><xacro:include/></robot>")
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
