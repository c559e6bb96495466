package world

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
)

// The core segments of other memories that tell of items, which are read where they are.
const (
	instanceType   = "engram.object.Instance"
	attachmentType = "engram.object.Attachment"
	heldPartType   = "engram.object.ArticulatedAttachment"
	clockType      = "engram.system_state.Clock"
)

// beside are the core segments of other memories that a world is made of, by their types. A server need
// not have them.
var beside = map[string]string{
	instanceType: "Object/Instance", attachmentType: "Object/Attachments", heldPartType: "Object/ArticulatedAttachments",
	clockType: "SystemState/Clock",
}

// besideTypes are the keys of beside, in order.
var besideTypes = slices.Sorted(maps.Keys(beside))

// ofSeveral reports whether the entities of a core segment may speak of one object after another: a hand's
// holds the cup and later the plate. Of each object the newest of their snapshots counts, of which a world reads mostHeld.
func ofSeveral(segment string) bool {
	return segment == "Attachments" || segment == "ArticulatedAttachments"
}

// mostHeld is how many snapshots of an entity that may speak of one object after another a world reads, the newest: as many
// as the memory Object holds in RAM. A gripper that restates what it holds at 10 Hz has a million a day on disk.
const mostHeld = 10_000

// priorKnowledge is the provider of what was known before anything was sensed.
const priorKnowledge = "PriorKnowledge"

// Seen is what a snapshot of the memory Object says of the world.
type Seen struct {
	Statement
	Joints []JointStatement // values of joints, each named "object/joint"
}

// Seen reads a snapshot of Object/Instance, Object/Attachments or Object/ArticulatedAttachments. Of an
// object that several instances of the snapshot tell of, the most confident counts. It is of the snapshot's time, which
// decides what is the newest; the payload's timestamp, of an attachment since when it is, does not. The
// error is Corrupt if it is none.
func (c *Codec) Seen(id engram.ID, s *engram.Snapshot) (Seen, error) {
	if len(s.Instances) == 0 {
		return Seen{}, engram.Errorf(engram.Corrupt, id.String(), "a snapshot without instances")
	}
	best := slices.MaxFunc(s.Instances, func(a, b engram.Instance) int {
		if a.Confidence > b.Confidence {
			return 1
		}
		return -1 // of equal ones the first
	})
	one := *s
	one.Instances = []engram.Instance{best}
	typ := instanceType
	for t, segment := range beside {
		if segment == "Object/"+id.CoreSegment() {
			typ = t
		}
	}
	v, err := c.decode(typ, id, &one)
	if err != nil {
		return Seen{}, err
	}
	seen := Seen{Statement: Statement{Name: id.Entity(), Said: c.said(id, &one)}}
	switch typ {
	case instanceType:
		seen.Home, seen.Item = InInstance, instanceItem(v)
	default:
		seen.Home, seen.Item = InAttachment, attachmentItem(v)
		if typ == heldPartType {
			seen.Home, seen.Item = inHeldPart, &Item{} // a part that is held moves by its joint
		}
		if held := v.link("object"); held.Entity() != "" {
			seen.Name = held.Entity()
		}
	}
	if id.ProviderSegment() == priorKnowledge {
		seen.Item.Source = PriorKnowledge
	}
	for name, value := range get[map[string]any](v, "joint_values") {
		q, _ := value.(float64)
		if !strings.HasPrefix(name, seen.Name+"/") {
			name = seen.Name + "/" + name
		}
		seen.Joints = append(seen.Joints, JointStatement{name, seen.Said, &Articulation{Value: &q, Source: seen.Item.Source}})
	}
	slices.SortFunc(seen.Joints, func(a, b JointStatement) int { return strings.Compare(a.Name, b.Name) })
	return seen, nil
}

// value returns what is said of a joint of the object; nothing, if that is so.
func (s *Seen) value(joint string) JointStatement {
	for _, j := range s.Joints {
		if j.Name == joint {
			return j
		}
	}
	return JointStatement{joint, s.Said, &Articulation{}}
}

// isClock reports whether an ID is of what a server measured of clocks.
func isClock(id engram.ID) bool {
	return id.CoreSegment() == clockSegment && (isOf(id, ownMemory) || isOf(id, clockMemory))
}

// Clock reads a snapshot of World/Clock or SystemState/Clock.
func (c *Codec) Clock(id engram.ID, s *engram.Snapshot) (ClockStatement, error) {
	v, err := c.decode(clockType, id, s)
	if err != nil {
		return ClockStatement{}, err
	}
	return ClockStatement{c.said(id, s), Skew{id.Entity(), get[time.Duration](v, "offset"), get[time.Duration](v, "uncertainty")}}, nil
}

// instanceItem returns what an Object/Instance says of the item of its name: where it is, and of which
// class.
func instanceItem(v object) *Item {
	it := &Item{Source: Perception, SeenIn: v.reference("source_image"), Description: &Description{Kinds: []string{KindObject}, Class: v.reference("object_class")}}
	p := v.pose("pose")
	it.Placement = &Placement{Frame: strings.TrimLeft(get[string](v, "frame_id"), "/"), Pose: p, Cov: v.covariance("pose_covariance", p)}
	if get[bool](v, "is_static") {
		it.Description.Kinds = append(it.Description.Kinds, kindStatic)
	}
	if o, ok := v.sub("oobb"); ok {
		it.Description.Box = &Box{o.pose("pose"), o.vector("size")}
	}
	return it
}

// attachmentItem returns what an Object/Attachments says of the object that it names. While it is
// active the object belongs to the agent and moves with the frame. Later it belongs to
// nobody, and stays where the attachment says that it was let go.
func attachmentItem(v object) *Item {
	frame := strings.TrimLeft(get[string](v, "frame_id"), "/")
	p := v.pose("pose")
	it := &Item{Source: Perception, Structure: &Structure{}}
	if get[bool](v, "active") {
		agent := agentName(v.link("agent"))
		switch {
		case agent == "":
			agent = frame
		case frame == "":
			frame = agent
		case !strings.Contains(frame, "/"):
			frame = agent + "/" + frame
		}
		it.Structure.Parent = agent
	}
	it.Placement = &Placement{Frame: frame, Pose: p}
	return it
}

// agentName returns the item that a link to a robot's description, or to an object, is about.
func agentName(link engram.ID) string {
	if link.Memory() == "RobotState" && link.ProviderSegment() != priorKnowledge {
		return link.ProviderSegment()
	}
	return link.Entity()
}
