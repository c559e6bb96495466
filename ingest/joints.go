package ingest

import (
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/ingest/rosmsg"
)

// JointMap has the names that joints get when joint states are imported, by their names in
// the recording.
type JointMap map[string]string

// ParseJointMap reads a joint map as YAML: a line "recorded: name" for each joint. The error is
// Invalid.
func ParseJointMap(name string, text []byte) (JointMap, error) {
	if len(text) > maxMapping {
		return nil, engram.Errorf(engram.Exhausted, name, "the joint map is %d bytes long; at most %d are allowed", len(text), maxMapping)
	}
	m := JointMap{}
	if err := yaml.Unmarshal(text, &m); err != nil {
		return nil, engram.Errorf(engram.Invalid, name, `not a joint map, lines like "left_elbow: kLeftElbow": %s`, yaml.FormatError(err, false, false))
	}
	return m, m.check(name)
}

// check refuses two joints of one name.
func (m JointMap) check(file string) error {
	from := map[string]string{}
	for _, joint := range slices.Sorted(maps.Keys(m)) {
		name := m[joint]
		if joint == "" || name == "" {
			return engram.Errorf(engram.Invalid, file, "the joint %q gets the name %q; neither may be empty", joint, name)
		}
		if other, ok := from[name]; ok {
			return engram.Errorf(engram.Invalid, file, "the joints %s and %s would both be %s", other, joint, name)
		}
		from[name] = joint
	}
	return nil
}

// jointNames are the names that joints get, and which of them were met.
type jointNames struct {
	names JointMap
	met   map[string]bool
}

// unmatched returns the joints of the map that were not met, sorted.
func (j *jointNames) unmatched() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(j.names)) {
		if !j.met[name] {
			out = append(out, name)
		}
	}
	return out
}

// maxJoints bounds the joints that are told of a topic.
const maxJoints = 1000

// topicJoints renames the joints of a channel, and reports them.
type topicJoints struct {
	all    *jointNames
	report *TopicReport
	known  map[string][]byte // the new names, by those in the recording
}

// rename implements the rewriting of a text by a plan.
func (j *topicJoints) rename(name []byte) []byte {
	if to, ok := j.known[string(name)]; ok {
		return to
	}
	to, mapped := j.all.names[string(name)]
	if !mapped {
		to = string(name)
	} else {
		j.all.met[string(name)] = true
	}
	if len(j.known) < maxJoints {
		j.known[string(name)] = []byte(to)
	}
	if len(j.report.Joints) < maxJoints && !slices.Contains(j.report.Joints, string(name)) {
		j.report.Joints = append(j.report.Joints, string(name))
	}
	return []byte(to)
}

// members has a rule rename the joints.
func (j *topicJoints) members(members []rosmsg.Member) []rosmsg.Member {
	i := slices.IndexFunc(members, func(m rosmsg.Member) bool { return m.From == "name" })
	if i < 0 {
		return append(members, rosmsg.Member{From: "name", To: "name", Optional: true, Text: j.rename})
	}
	members[i].Text = j.rename
	return members
}

// of has a channel of joint states rename its joints.
func (j *jointNames) of(s source, typ string, report *TopicReport) {
	if ros, ok := s.(*rosSource); ok && strings.HasSuffix(shortType(typ), "sensor_msgs/JointState") {
		ros.joints = &topicJoints{j, report, map[string][]byte{}}
	}
}
