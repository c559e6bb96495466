package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/pose"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
)

func newWorldArticulate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "articulate [JOINT]",
		Short: "State a joint between two items, or its value; without JOINT list them",
		Long: `States how one item can move against another, or only what value a joint has: what no flag
names stays as it is. A revolute joint turns about the z axis of its frame, which --axis turns;
a prismatic one goes along --direction. Values are radians or metres, and lie within the limits.
'engram world withdraw JOINT' takes a joint back.`,
		Example: `  engram world articulate hinge --base cupboard --moved door --kind revolute --pose 0.3,0.2,0.4 --limits 0,1.6 --radius 0.45
  engram world articulate rail --base cupboard --moved drawer --kind prismatic --direction 1,0,0 --limits 0,0.4
  engram world articulate hinge --value 1.2 --sigma 0.01`,
		Args: positional(cobra.MaximumNArgs(1)),
	}
	f := cmd.Flags()
	f.String("base", "", "the item that stays")
	f.String("moved", "", "the item that moves")
	f.String("kind", "", "revolute, prismatic or fixed")
	f.String("pose", "", "of the joint's frame in the base: x,y,z, with roll,pitch,yaw or qx,qy,qz,qw")
	f.String("axis", "", "x,y,z in that frame, about which a revolute joint turns (default: 0,0,1)")
	f.String("direction", "", "x,y,z in that frame, along which a prismatic joint goes")
	f.String("limits", "", "LOWER,UPPER; '' is none")
	f.Float64("radius", 0, "from the axis to the handle, metres")
	f.Float64("reference", 0, "the value at which the moved item has the pose that is stated of it")
	f.Float64("value", 0, "the present value")
	f.Float64("sigma", 0, "standard deviation of the value; of perception it must be said")
	f.StringSlice("serves", nil, "of a lift, the floors that it stops at")
	f.String("source", "operator", "where it comes from: operator, prior or perception")
	_ = cmd.RegisterFlagCompletionFunc("base", completeItems)
	_ = cmd.RegisterFlagCompletionFunc("moved", completeItems)
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions([]string{"revolute", "prismatic", "fixed"}, cobra.ShellCompDirectiveNoFileComp))
	printing(cmd, articulate)
	return cmd
}

// jointFlags are those that say more of a joint than its value.
var jointFlags = []string{"base", "moved", "kind", "pose", "axis", "direction", "limits", "radius", "reference", "serves"}

func articulate(cmd *cobra.Command, args []string, format string) error {
	described, stated := false, false
	for _, name := range jointFlags {
		described = described || cmd.Flags().Changed(name)
	}
	stated = described || cmd.Flags().Changed("value") || cmd.Flags().Changed("sigma")
	switch {
	case len(args) == 0 && stated:
		return usagef("which joint? engram world articulate JOINT …")
	case len(args) == 0:
		return askWorld(cmd, func(format string, s answer.Service, q answer.Question) error { return printJoints(cmd, format, s, q) })
	case !stated:
		return usagef("what is stated of %s? Its --value, or with --base, --moved and --kind what it is", args[0])
	case cmd.Flags().Changed("sigma") && !cmd.Flags().Changed("value"):
		return usagef("--sigma is that of a --value")
	}
	word, _ := cmd.Flags().GetString("source")
	source, err := parseSource(word)
	if err != nil {
		return err
	}
	if source == world.Perception && cmd.Flags().Changed("value") && !cmd.Flags().Changed("sigma") {
		return usagef("how sure is the --value? What is perceived has a --sigma; 0 is exact")
	}
	return writeWorld(cmd, source, func(w *worldWriter) error {
		c, err := w.codec()
		if err != nil {
			return err
		}
		a := world.Articulation{}
		if described {
			if a, err = w.describedJoint(c, args[0]); err != nil {
				return err
			}
		}
		a.Source = source
		if cmd.Flags().Changed("value") {
			value, _ := cmd.Flags().GetFloat64("value")
			a.Value = &value
			a.Sigma, _ = cmd.Flags().GetFloat64("sigma")
		}
		failed, mark, err := w.state(c, world.Stated{Name: args[0], What: a})
		if err = cmp.Or(err, cmp.Or(failed...)); err != nil {
			return err
		}
		return printMark(cmd, format, args[0], mark)
	})
}

// describedJoint returns what the command's flags make of a joint, which may be there, and tells which of its items is not.
func (w *worldWriter) describedJoint(c *world.Codec, name string) (a world.Articulation, err error) {
	is, err := w.known(c, name)
	if err != nil {
		return a, err
	}
	a.Pose = pose.Identity()
	if is[0].joint != nil {
		a = *is[0].joint
		a.Value, a.Sigma, a.Time, a.ValueTime = nil, 0, 0, 0
	}
	if err := describeJoint(w.cmd, &a); err != nil {
		return a, err
	}
	items, err := w.known(c, a.Base, a.Moved)
	for i := range items {
		if items[i].item == nil {
			w.cmd.PrintErrf("engram: %s\n", visible(items[i].missing))
		}
	}
	return a, err
}

// describeJoint changes a joint by the flags that are given.
func describeJoint(cmd *cobra.Command, a *world.Articulation) error {
	f := cmd.Flags()
	text := func(name string) string { s, _ := f.GetString(name); return s }
	if f.Changed("base") {
		a.Base = text("base")
	}
	if f.Changed("moved") {
		a.Moved = text("moved")
	}
	if a.Base == "" || a.Moved == "" {
		return usagef("which items does it join? There is no such joint yet, so --base and --moved are needed")
	}
	var err error
	switch {
	case f.Changed("kind"):
		if a.Kind, err = world.ParseJointKind(text("kind")); err != nil {
			return usagef("--kind %s: revolute, prismatic or fixed", text("kind"))
		}
	case f.Changed("base") && f.Changed("moved"):
		return usagef("of which --kind is it: revolute, prismatic or fixed?")
	}
	if f.Changed("pose") {
		if a.Pose, err = parsePose("--pose", text("pose")); err != nil {
			return err
		}
	}
	if err := jointAxis(cmd, a); err != nil {
		return err
	}
	if f.Changed("limits") {
		if a.Limits = nil; text("limits") != "" {
			n, err := parseNumbers("--limits", text("limits"), "LOWER,UPPER", 2)
			if err != nil {
				return err
			}
			a.Limits = &world.Limits{Lower: n[0], Upper: n[1]}
		}
	}
	if f.Changed("radius") {
		a.Radius, _ = f.GetFloat64("radius")
	}
	if f.Changed("reference") {
		a.Reference, _ = f.GetFloat64("reference")
	}
	if f.Changed("serves") {
		a.Serves, _ = f.GetStringSlice("serves")
	}
	return nil
}

func jointAxis(cmd *cobra.Command, a *world.Articulation) error {
	for _, flag := range []struct {
		name string
		kind world.JointKind
		set  func(pose.Vec3)
	}{{"axis", world.Revolute, a.SetAxis}, {"direction", world.Prismatic, a.SetDirection}} {
		if !cmd.Flags().Changed(flag.name) {
			continue
		}
		text, _ := cmd.Flags().GetString(flag.name)
		n, err := parseNumbers("--"+flag.name, text, "x,y,z", 3)
		if err != nil {
			return err
		}
		v := pose.Vec3{X: n[0], Y: n[1], Z: n[2]}
		if a.Kind != flag.kind {
			return usagef("--%s is that of a %s joint, and this one is %s", flag.name, flag.kind, a.Kind)
		}
		if !(v.Norm() > 1e-9) {
			return usagef("--%s %s gives no direction", flag.name, text)
		}
		flag.set(v)
	}
	if a.Kind == world.Prismatic && a.Direction == (pose.Vec3{}) {
		return usagef("along which --direction does it go?")
	}
	if a.Kind != world.Prismatic {
		a.Direction = pose.Vec3{}
	}
	return nil
}

func newWorldJoints() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "joints",
		Short: "The joints between items, with their limits and values",
		Args:  positional(cobra.NoArgs),
	}
	addWorldReadFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return askWorld(cmd, func(format string, s answer.Service, q answer.Question) error { return printJoints(cmd, format, s, q) })
	}
	return cmd
}

type jointJSON struct {
	Name  string `json:"name"`
	Moved string `json:"moved"`
	itemJointJSON
	Reference float64    `json:"reference,omitempty"`
	Pose      *placeJSON `json:"pose"` // of its frame in the base; nil if what was stated is none
	Direction [3]float64 `json:"direction"`
	Provider  string     `json:"provider"`
	Notes     []string   `json:"notes,omitempty"`
}

func printJoints(cmd *cobra.Command, format string, s answer.Service, q answer.Question) error {
	joints, err := s.Joints(cmd.Context(), q)
	if err != nil {
		return err
	}
	out := &table{header: []string{"JOINT", "KIND", "BASE", "MOVED", "VALUE", "LIMITS", "SAID BY", "NOTE"}, spare: []string{"SAID BY", "KIND", "BASE"}}
	var objects []jointJSON
	for i := range joints {
		j := &joints[i]
		o := jointJSON{
			Name: j.Name, Moved: j.Moved, itemJointJSON: *jointObject(&j.ItemJoint), Reference: j.Reference,
			Pose: placeObject(j.Pose), Direction: list3(j.Direction), Provider: j.SaidBy, Notes: j.Notes,
		}
		unit, limits, value := " rad", "-", "-"
		if j.Kind == world.Prismatic.String() {
			unit = " m"
		}
		if j.Limits != nil {
			limits = formatNumber(j.Limits.Lower) + " to " + formatNumber(j.Limits.Upper) + unit
		}
		if j.Value != nil {
			if value = formatNumber(*j.Value) + unit; j.Sigma > 0 {
				value += " ± " + formatNumber(j.Sigma)
			}
		}
		objects = append(objects, o)
		out.add(j.Name, j.Kind, j.Base, j.Moved, value, limits, o.Provider, strings.Join(o.Notes, "; "))
	}
	return print(cmd.OutOrStdout(), format, out, objects)
}
