package lookup

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

const (
	// PriorKnowledge is the provider segment of what is known of robots before they run.
	PriorKnowledge = "PriorKnowledge"
	// RevisionProvider is the provider segment of what is revised through the service: its frames have full names.
	RevisionProvider = "PoseService"
)

// RobotOf returns the robot that an entity of the memory RobotState is about: the provider segment is named after it, or,
// in a recording, after that. Prior knowledge of a robot is in the entity of its name.
func RobotOf(entity engram.ID) string {
	if entity.ProviderSegment() == PriorKnowledge {
		return entity.Entity()
	}
	return entity.ProviderSegment()
}

// Absolute returns the full name of a robot's frame or joint: with a slash inside it has its robot already. Leading
// slashes, which ROS 1 allowed, mean nothing.
func Absolute(robot, name string) string {
	name = strings.TrimLeft(name, "/")
	if name == "" || robot == "" || strings.Contains(name, "/") {
		return name
	}
	return robot + "/" + name
}

// commandWords are in the names of entities that tell what a robot was told to do, and not what it did.
var commandWords = []string{"command", "cmd", "desired", "setpoint", "goal", "target"}

// Commanded reports whether an entity's name says that it tells what a robot was told to do. What was measured counts
// before it.
func Commanded(entity engram.ID) bool {
	name := strings.ToLower(entity.Entity())
	return slices.ContainsFunc(commandWords, func(w string) bool { return strings.Contains(name, w) })
}

// Reading says how to read the bodies of a revision.
type Reading bool

// What the key of a body is read as.
const (
	AsSaid     Reading = false // as the committer said
	AsResolved Reading = true  // as the correction it came to, where the memory noted it
)

// TransactionOf reads a decoded engram.robot_state.Revision of an entity. The error names the key or edge, and is Invalid.
func TransactionOf(entity engram.ID, revision any, how Reading) (Transaction, error) {
	robot := RobotOf(entity)
	if robot == RevisionProvider {
		robot = ""
	}
	m, _ := revision.(map[string]any)
	tx := Transaction{Author: entity.Entity()}
	if author, _ := m["author"].(string); author != "" {
		tx.Author = author
	}
	edge := func(m map[string]any) (parent, child string) {
		parent, _ = m["parent_frame_id"].(string)
		child, _ = m["child_frame_id"].(string)
		return Absolute(robot, parent), Absolute(robot, child)
	}
	var err error
	for _, m := range objects(m["keys"]) {
		var k Key
		k.Parent, k.Child = edge(m)
		k.Body, _ = m["is_body"].(bool)
		var ok bool
		if k.Time, ok = m["timestamp"].(engram.Time); !ok {
			return tx, engram.Errorf(engram.Invalid, k.Parent+" → "+k.Child, "a key has no timestamp")
		}
		if k.Pose, k.Cov, err = revisedPose(m); err != nil {
			return tx, engram.Errorf(engram.CodeOf(err), k.Parent+" → "+k.Child, "the key at %v: %w", k.Time, err)
		}
		if c, ok := m["correction"].(map[string]any); ok && k.Body && how == AsResolved {
			k.Parent, _ = c["parent_frame_id"].(string)
			k.Child, _ = c["child_frame_id"].(string)
			k.Body = false
			if k.Pose, k.Cov, err = revisedPose(c); err != nil {
				return tx, engram.Errorf(engram.CodeOf(err), k.Parent+" → "+k.Child, "the correction at %v: %w", k.Time, err)
			}
		}
		tx.Keys = append(tx.Keys, k)
	}
	for _, m := range objects(m["replaced"]) {
		r := Replaced{Interval: spanOf(m)}
		r.Parent, r.Child = edge(m)
		tx.Replaced = append(tx.Replaced, r)
	}
	for _, m := range objects(m["calibrations"]) {
		c := Calibration{Valid: spanOf(m)}
		c.Parent, c.Child = edge(m)
		if c.Pose, c.Cov, err = revisedPose(m); err != nil {
			return tx, engram.Errorf(engram.CodeOf(err), c.Parent+" → "+c.Child, "the calibration: %w", err)
		}
		tx.Calibrations = append(tx.Calibrations, c)
	}
	return tx, nil
}

func objects(list any) (out []map[string]any) {
	l, _ := list.([]any)
	for _, v := range l {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func spanOf(m map[string]any) engram.Interval {
	iv := engram.Always()
	if t, ok := m["start"].(engram.Time); ok {
		iv.Start = t
	}
	if t, ok := m["end"].(engram.Time); ok {
		iv.End = t
	}
	return iv
}

// revisedPose reads the pose and covariance of a key or calibration. A translation
// or rotation that is not given is none.
func revisedPose(m map[string]any) (p pose.Pose, cov pose.Cov, err error) {
	p = pose.Identity()
	number := func(m map[string]any, name string) float64 { f, _ := m[name].(float64); return f }
	if v, ok := m["translation"].(map[string]any); ok {
		p.T = pose.Vec3{X: number(v, "x"), Y: number(v, "y"), Z: number(v, "z")}
	}
	if v, ok := m["rotation"].(map[string]any); ok {
		p.R = pose.Quat{W: number(v, "w"), X: number(v, "x"), Y: number(v, "y"), Z: number(v, "z")}
	}
	if p, err = p.Checked(); err != nil {
		return p, cov, err
	}
	list, _ := m["covariance"].([]any)
	switch len(list) {
	case 0:
		return p, cov, nil
	case len(cov.S):
	default:
		return p, cov, engram.Errorf(engram.Invalid, "covariance", "it has %d numbers instead of %d", len(list), len(cov.S))
	}
	for i := range cov.S {
		cov.S[i], _ = list[i].(float64)
	}
	switch mask, _ := m["covariance_mask"].(uint32); {
	case mask == 0:
		cov.Mask = pose.AllDims
	case mask > pose.AllDims:
		return p, cov, engram.Errorf(engram.Invalid, "covariance_mask", "%d is no sum of 1, 2, 4, 8, 16 and 32, each at most once", mask)
	default:
		cov.Mask = uint8(mask)
	}
	cov, err = cov.Checked()
	return p, cov, err
}
