package files_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/files"
)

const cupboard = `<?xml version="1.0"?>
<robot name="cupboard" version="1.0">
  <material name="white"><color rgba="1 1 1 1"/></material>
  <link name="body">
    <inertial><mass value="20"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><origin xyz="0 0 0.4"/><geometry><box size="0.6 0.4 0.8"/></geometry><material name="white"/></visual>
    <collision><origin xyz="0 0 0.4"/><geometry><box size="0.6 0.4 0.8"/></geometry></collision>
  </link>
  <link name="door">
    <visual><geometry><mesh filename="package://kitchen/door.dae" scale="0.001 0.001 0.001"/></geometry></visual>
    <collision><geometry><mesh filename="package://kitchen/door.stl"/></geometry></collision>
  </link>
  <link name="drawer">
    <collision><origin xyz="1 0 0"/><geometry><sphere radius="0.5"/></geometry></collision>
    <collision><geometry><cylinder radius="0.1" length="1"/></geometry></collision>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="body"/><child link="door"/><origin xyz="0.3 0.2 0.4" rpy="0 0 1.5707963267948966"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="1.6" effort="10" velocity="2"/><dynamics damping="0.5"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="body"/><child link="drawer"/><axis xyz="1 0 0"/><limit lower="0" upper="0.3" effort="10" velocity="2"/><mimic joint="hinge"/>
  </joint>
  <gazebo reference="door"><mu1>0.2</mu1></gazebo>
  <transmission name="t"><type>x</type></transmission>
</robot>`

func TestCupboard(t *testing.T) {
	c, left, err := files.ReadURDF([]byte(cupboard), "cupboard.urdf", files.Description{Name: "cup board", Parent: "kitchen"})
	if err != nil {
		t.Fatal(err)
	}
	f := state(t, c)
	for _, name := range []string{"cup board", "cup board/body", "cup board/door", "cup board/drawer"} {
		if !f.Has(name) {
			t.Errorf("there is no %s", name)
		}
	}
	j, err := f.Joints().Get("cup board/hinge")
	if err != nil || j.Kind != world.Revolute || *j.Limits != (world.Limits{Upper: 1.6}) {
		t.Fatalf("%+v, %v", j.Articulation, err)
	}
	// The file's axis is -y of a frame that is turned by 90 degrees: x of the body.
	if z := j.Articulation.Pose.R.Rotate(pose.Vec3{Z: 1}); z.Sub(pose.Vec3{X: 1}).Norm() > 1e-9 {
		t.Errorf("it turns about %v", z)
	}
	door, _ := f.Get("cup board/door")
	if s := door.Description.Shape; s.Mesh != "package://kitchen/door.dae" || s.Size.X != 0.001 || door.Description.Properties["meshes"].([]any)[0] != "package://kitchen/door.stl" {
		t.Errorf("%+v, %v", s, door.Description.Properties)
	}
	body, _ := f.Get("cup board/body")
	if b := body.Description.Box; b == nil || b.Pose.T.Z != 0.4 || b.Size.Y != 0.4 {
		t.Errorf("%+v", b)
	}
	drawer, _ := f.Get("cup board/drawer")
	if b := drawer.Description.Box; b == nil || b.Size != (pose.Vec3{X: 1.6, Y: 1, Z: 1}) {
		t.Errorf("%+v", b)
	}
	got := map[string]string{}
	for _, l := range left {
		got[l.What] = strings.Join(l.Where, ", ")
	}
	for what, where := range map[string]string{
		"link/inertial/mass value": "link body", "link/inertial/inertia ixx": "link body", "joint/limit effort": "joint hinge, joint slide",
		"joint/limit velocity": "joint hinge, joint slide", "joint/dynamics damping": "joint hinge", "joint/mimic joint": "joint slide",
		"material/color rgba": "material white", "gazebo/mu1": "gazebo of door", "transmission/type": "transmission t", "link/visual/material name": "link body",
	} {
		if got[what] != where {
			t.Errorf("%s is left out of %q, not of %q", what, got[what], where)
		}
	}
	if t.Failed() {
		t.Logf("left out: %v", got)
	}
}

// TestAllDescriptions has each link and joint of real robots, at zero where they are.
func TestAllDescriptions(t *testing.T) {
	folder := testkit.Shared(t, "urdf")
	found, err := filepath.Glob(filepath.Join(folder, "*.urdf"))
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no robot descriptions in %s: %v", folder, err)
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		robot, err := urdf.Read(strings.NewReader(string(text)), file)
		if err != nil {
			t.Fatal(err)
		}
		c, left, err := files.ReadURDF(text, file, files.Description{Name: "r", Robot: true})
		if err != nil {
			t.Fatal(err)
		}
		f := state(t, c)
		if f.Len() != len(robot.Links)+1 {
			t.Errorf("%s: %d items of %d links", file, f.Len(), len(robot.Links))
		}
		for _, l := range robot.Links {
			m, err := f.Get("r/" + l.Name)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			for _, mesh := range l.Meshes {
				s := m.Description.Shape
				others, _ := m.Description.Properties["meshes"].([]any)
				if (s == nil || s.Mesh != mesh) && !slices.Contains(others, any(mesh)) {
					t.Errorf("%s: the mesh %s of %s is lost", file, mesh, l.Name)
				}
			}
		}
		for _, j := range robot.Joints {
			a, err := f.Joints().Get("r/" + j.Name)
			if planar := j.Type == urdf.Planar || j.Type == urdf.Floating; err != nil && !planar {
				t.Errorf("%s: %v", file, err)
			} else if !planar && (a.Base != "r/"+j.Parent || a.Moved != "r/"+j.Child) {
				t.Errorf("%s: %s joins %s and %s", file, j.Name, a.Base, a.Moved)
			}
		}
		if len(left) == 0 {
			t.Errorf("%s: nothing is left out", file)
		}
		// What is read from the world's own file is the same.
		for _, o := range []files.Options{{}, {Nested: true}} {
			first := write(t, f, o)
			if again := write(t, state(t, read(t, first, "f")), o); again != first {
				t.Errorf("%s: %+v: written twice is not the same", file, o)
			}
		}
	}
}

// TestForwardKinematics compares with the poses that orocos-kdl computed.
func TestForwardKinematics(t *testing.T) {
	for robot, root := range map[string]string{
		"fetch": "base_link", "pr2": "base_footprint", "spot": "body", "tiago": "base_footprint", "turtlebot3_waffle_pi": "base_footprint",
	} {
		text, err := os.ReadFile(testkit.Shared(t, "urdf", robot+".urdf"))
		if err != nil {
			t.Fatal(err)
		}
		rows := readCSV(t, testkit.Shared(t, "oracle", "fk", robot+".csv"))
		c, _, err := files.ReadURDF(text, robot, files.Description{Name: robot, Robot: true})
		if err != nil {
			t.Fatal(err)
		}
		d, err := urdf.Read(strings.NewReader(string(text)), robot)
		if err != nil {
			t.Fatal(err)
		}
		mimics := map[string]*urdf.Mimic{}
		for _, j := range d.Joints {
			mimics[j.Name] = j.Mimic
		}
		var f *world.Forest
		sample := ""
		for _, r := range rows {
			if r["sample"] != sample {
				sample = r["sample"]
				given := map[string]float64{}
				for _, nv := range strings.Split(r["joints"], ";") {
					name, value, _ := strings.Cut(nv, "=")
					given[name] = number(t, value)
				}
				for i := range c.Joints {
					j := &c.Joints[i]
					name := strings.TrimPrefix(j.Name, robot+"/")
					if q, ok := given[name]; ok && j.Kind != world.Fixed {
						j.Value, j.Limits = &q, nil // samples may lie outside of the limits
					}
					if m := mimics[name]; m != nil {
						q := m.Multiplier*given[m.Joint] + m.Offset
						j.Value, j.Limits = &q, nil
					}
				}
				f = state(t, c)
			}
			at, err := f.Pose(robot+"/"+root, robot+"/"+r["link"])
			if err != nil {
				t.Fatal(err)
			}
			want := pose.Pose{
				T: pose.Vec3{X: number(t, r["x"]), Y: number(t, r["y"]), Z: number(t, r["z"])},
				R: pose.Quat{X: number(t, r["qx"]), Y: number(t, r["qy"]), Z: number(t, r["qz"]), W: number(t, r["qw"])},
			}
			e := want.Inverse().Mul(at.Pose)
			if x := pose.Log(e); !(x.Rho.Norm() < 1e-8 && x.Phi.Norm() < 1e-8) {
				t.Fatalf("%s, sample %s, link %s: is at %v, not %v", robot, sample, r["link"], at.Pose, want)
			}
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func readCSV(t *testing.T, file string) (rows []map[string]string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range all[1:] {
		row := map[string]string{}
		for i, key := range all[0] {
			row[key] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func report(t *testing.T, file string) (*world.Forest, []files.LeftOut, []string) {
	t.Helper()
	text, err := os.ReadFile(testkit.Shared(t, "reports", file))
	if err != nil {
		t.Fatal(err)
	}
	c, left, err := files.ReadURDF(text, file, files.Description{})
	if err != nil {
		t.Fatal(err)
	}
	return state(t, c), left, c.Notes
}

// Version 1.2 of the format has more limits, 1.1 quaternions and capsules.
func TestNewerFormats(t *testing.T) {
	f, left, notes := report(t, "version12.urdf")
	if j, err := f.Joints().Get("arm/shoulder"); err != nil || *j.Limits != (world.Limits{Lower: -1, Upper: 1}) || !f.Has("arm/upper") || len(notes) > 0 {
		t.Errorf("%+v, %v, %q", j, err, notes)
	}
	if !slices.ContainsFunc(left, func(l files.LeftOut) bool { return l.What == "joint/limit jerk" }) {
		t.Errorf("left out: %v", left)
	}
	box := func(f *world.Forest, name string) world.Box {
		m, err := f.Get(name)
		if err != nil || m.Description.Box == nil {
			t.Fatalf("%s has no box: %v", name, err)
		}
		return *m.Description.Box
	}
	f, left, _ = report(t, "capsule11.urdf")
	if b := box(f, "arm/base"); b.Pose != pose.Translation(0, 0, 0.2) || b.Size.Sub(pose.Vec3{X: 0.1, Y: 0.1, Z: 0.5}).Norm() > 1e-12 {
		t.Errorf("the capsule's box: %+v", b)
	}
	if len(left) != 1 || !strings.Contains(left[0].What, "capsule") {
		t.Errorf("left out: %v", left)
	}
	f, left, _ = report(t, "visual_quat.urdf")
	base, twin := box(f, "cart/base"), box(f, "cart/twin")
	if base.Size != twin.Size || pose.Log(base.Pose.Inverse().Mul(twin.Pose)).Phi.Norm() > 1e-9 || base.Pose.T != twin.Pose.T {
		t.Errorf("%+v is not %+v", base, twin)
	}
	for _, l := range left {
		if strings.Contains(l.What, "quat") || strings.Contains(l.What, "origin") {
			t.Error(l)
		}
	}
	if m, _ := f.Get("cart/base"); m.Description.Shape.Pose == nil || pose.Log(m.Description.Shape.Pose.Inverse().Mul(twin.Pose)).Phi.Norm() > 1e-9 {
		t.Errorf("%+v", m.Description.Shape)
	}
}

// Where a quaternion does not belong, or is none, the form stays where it would be without, and that is told.
func TestOriginsThatAreNoPose(t *testing.T) {
	text, err := os.ReadFile(testkit.Shared(t, "reports", "visual_quat.urdf"))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string][2]string{
		"version 1.0":    {`version="1.1"`, `version="1.0"`},
		"both":           {"quat_xyzw", `rpy="0 0 0" quat_xyzw`},
		"not a rotation": {`"0 0.70710678118654752 0 0.70710678118654752"`, `"0 2 0 0"`},
		"three numbers":  {`"0 0.70710678118654752 0 0.70710678118654752"`, `"0 1 0"`},
	} {
		c, left, err := files.ReadURDF([]byte(strings.ReplaceAll(string(text), change[0], change[1])), "f.urdf", files.Description{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		told := slices.ContainsFunc(left, func(l files.LeftOut) bool { return strings.HasSuffix(l.What, "/origin, which is no pose") })
		if m, err := state(t, c).Get("cart/base"); err != nil || m.Description.Box.Pose != pose.Translation(0, 0, 0.5) || !told {
			t.Errorf("%s: %+v, %v, %v", what, m.Description.Box, err, left)
		}
	}
}

// A mesh that is mirrored keeps its name and its scale, in a world's own file, too.
func TestMirroredMesh(t *testing.T) {
	f, _, _ := report(t, "mirrored_mesh.urdf")
	for name, y := range map[string]float64{"pair/left": 0.001, "pair/right": -0.001} {
		m, err := f.Get(name)
		if s := m.Description.Shape; err != nil || s == nil || s.Mesh != "package://pair/leg.stl" || s.Size != (pose.Vec3{X: 0.001, Y: y, Z: 0.001}) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	first := write(t, f, files.Options{})
	if again := write(t, state(t, read(t, first, "f")), files.Options{}); again != first {
		t.Errorf("written\n%s\nand then\n%s", first, again)
	}
}
