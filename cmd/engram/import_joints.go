package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/ingest"
	"github.com/seed-301d4374/engram/pose/urdf"
)

// jointsJSON tells which joints of a topic the joint map and the robot's description know, if there are such.
type jointsJSON struct {
	Joints      int      `json:"joints"`
	Mapped      *int     `json:"mapped,omitempty"`
	Unmapped    []string `json:"unmapped,omitempty"`
	Described   *int     `json:"described,omitempty"`
	Undescribed []string `json:"undescribed,omitempty"` // by the names that they got
}

// addJoints says of topics of joint states which joints are known. Errors are left out: it is a remark.
func addJoints(ctx context.Context, m *client.Client, r *ingest.Report, o *reportJSON, names ingest.JointMap) {
	var moving map[string]bool
	asked := false
	for i := range r.Topics {
		t := &r.Topics[i]
		if len(t.Joints) == 0 {
			continue
		}
		if !asked {
			moving, _ = movingJoints(ctx, m, r.Source)
			asked = true
		}
		j := &jointsJSON{Joints: len(t.Joints)}
		if len(names) > 0 {
			j.Unmapped = unknownJoints(t.Joints, func(joint string) bool { return names[joint] != "" })
			j.Mapped = new(len(t.Joints) - len(j.Unmapped))
		}
		if moving != nil {
			named := make([]string, len(t.Joints))
			for k, joint := range t.Joints {
				named[k] = cmp.Or(names[joint], joint)
			}
			j.Undescribed = unknownJoints(named, func(joint string) bool { return moving[joint] })
			j.Described = new(len(named) - len(j.Undescribed))
		}
		o.Topics[i].Joints = j
	}
}

func unknownJoints(joints []string, known func(joint string) bool) (not []string) {
	for _, joint := range joints {
		if !known(joint) {
			not = append(not, joint)
		}
	}
	return not
}

// tellJoints prints of each topic how many joints are known, and which are not.
func tellJoints(cmd *cobra.Command, o *reportJSON) {
	for _, t := range o.Topics {
		if t.Joints == nil {
			continue
		}
		of := func(known *int, not []string, where string) {
			if known == nil {
				return
			}
			const most = 8
			var names string
			if n := len(not); n > most {
				names = fmt.Sprintf(", not %s and %d more", strings.Join(not[:most], ", "), n-most)
			} else if n > 0 {
				names = ", not " + strings.Join(not, ", ")
			}
			cmd.PrintErrf("%s: %d of %s %s%s\n", visible(t.Topic), *known, countOf(uint64(t.Joints.Joints), "joint"), where, visible(names))
		}
		of(t.Joints.Mapped, t.Joints.Unmapped, "in --joint-map")
		of(t.Joints.Described, t.Joints.Undescribed, "in the robot's description")
	}
}

// movingJoints returns the joints that a robot's description has values for; nil if it has none.
func movingJoints(ctx context.Context, m *client.Client, robot string) (map[string]bool, error) {
	id, err := engram.NewID("RobotState", "Description", robot)
	if err != nil {
		return nil, err
	}
	r, err := m.Query(ctx, engram.SelectID(id, engram.Latest(1)))
	if err != nil {
		return nil, err
	}
	types := newTypeCache(m)
	var moving map[string]bool
	for _, item := range r.Items() {
		payload := item.Instances[0].Payload
		typ, err := types.get(ctx, payload.Type)
		if err != nil {
			return nil, err
		}
		v, err := typ.Decode(payload.Bytes)
		if err != nil {
			return nil, err
		}
		members, _ := v.(map[string]any)
		text, _ := members["urdf"].(string)
		d, err := urdf.Read(strings.NewReader(text), robot)
		if err != nil {
			return nil, err
		}
		if moving == nil {
			moving = map[string]bool{}
		}
		for i := range d.Joints {
			if j := &d.Joints[i]; j.Mimic == nil && (j.Type == urdf.Revolute || j.Type == urdf.Continuous || j.Type == urdf.Prismatic) {
				moving[j.Name] = true
			}
		}
	}
	return moving, nil
}
