package sim

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose"
)

// Setup returns what is known from the beginning: the robot's model, the kinds of
// objects, the skills, the places, the kitchen and the transforms that never change. Its time is
// that of tick 0.
func (r *Robot) Setup() engram.Commit {
	t := r.config.Start
	var c engram.Commit
	add := func(entity engram.ID, p engram.Payload) { c.Updates = append(c.Updates, update(entity, t, p)) }
	add(r.id("RobotState", "Description", r.config.Robot), payload(r.types.robot, map[string]any{
		"name": r.config.Robot, "urdf": URDF(r.config.Robot), "root_frame_id": baseFrame,
		"joint_groups": jointGroups(), "model": "Engram simulated humanoid", "serial_number": "0",
	}))
	static := func(parent, child string, p pose.Pose) {
		add(r.edge(parent, child), payload(r.types.localization, map[string]any{
			"timestamp": t, "parent_frame_id": parent, "child_frame_id": child,
			"translation": vector(p.T), "rotation": rotationValue(p.R), "is_static": true,
		}))
	}
	static(mapFrame, odomFrame, pose.Translation(0, 0, 0))
	static(body[neckPitch].link, leftCameraFrame, cameraInHead)
	static(leftCameraFrame, rightCameraFrame, pose.Translation(stereoBaseline, 0, 0))
	for i := range objects {
		o := &objects[i]
		symmetry := []any{1, 1, 0}
		if o.shape == boxShape {
			symmetry = []any{2, 2, 2}
		} else if o.shape == cupShape {
			symmetry = []any{1, 1, 1}
		}
		add(r.id("Object", "Class", o.class), payload(r.types.class, map[string]any{
			"name": o.class, "spoken_names": []any{o.spoken}, "articulated": false, "mass": o.mass, "symmetry": symmetry,
			"oobb": map[string]any{"pose": poseValue(pose.Translation(0, 0, 0)), "size": vector(o.size)},
		}))
	}
	if r.live == nil { // or else their providers describe them
		for i := range r.abilities {
			u, err := r.skills.DescriptionUpdate(&r.abilities[i].Description, t)
			if err != nil {
				panic(err) // it is the robot's own
			}
			c.Updates = append(c.Updates, u)
		}
	}
	place := func(name string, p pose.Pose) {
		add(r.id("Navigation", "Location", name), payload(r.types.location, map[string]any{
			"names": []any{name}, "frame_id": mapFrame, "pose": poseValue(p),
		}))
	}
	place("home", pose.Translation(0, 0, 0))
	place("table", pose.Translation(driveDistance, 0, 0))
	c.Updates = append(c.Updates, r.kitchen(t)...)
	return c
}

func jointGroups() map[string]any {
	names := func(from, to int) (list []any) {
		for i := from; i < to; i++ {
			list = append(list, body[i].name)
		}
		return list
	}
	groups := map[string]any{"torso": names(torsoLift, neckYaw), "head": names(neckYaw, firstArmJoint)}
	for side, s := range sideNames {
		groups[s+"_arm"] = names(arm(side, 0), finger(side, 0))
		groups[s+"_hand"] = names(finger(side, 0), finger(side, fingerJoints))
	}
	return groups
}
