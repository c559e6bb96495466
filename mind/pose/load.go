package pose

import (
	"io"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// LoadURDF adds the links of a robot description as frames robot/link, and its
// joints as edges: fixed ones as KindFixed (with an unknown covariance), revolute,
// continuous and prismatic ones as KindJoint with the name robot/joint, and planar
// and floating ones as KindFree, whose pose is that of the child link in the parent
// link. The options apply to the moving edges. Loading the same description again
// changes nothing.
//
// The errors are those of [urdf.Read] and of [Store.Fixed]; nothing is added then.
func (s *Store) LoadURDF(r io.Reader, robot string, opts ...Option) error {
	d, err := urdf.Read(r, robot+".urdf")
	if err != nil {
		return err
	}
	return s.AddRobot(d, robot, opts...)
}

// AddRobot is LoadURDF for a description that was read already.
func (s *Store) AddRobot(d *urdf.Robot, robot string, opts ...Option) error {
	if err := engram.CheckName(robot); err != nil {
		return engram.Errorf(engram.Invalid, "robot", "%w", err)
	}
	return s.change(func(dr *draft) (bool, error) {
		if _, err := dr.frame(robot + "/" + d.Root); err != nil {
			return false, err
		}
		// A joint that mimics another comes after it.
		for _, mimics := range []bool{false, true} {
			for i := range d.Joints {
				if j := &d.Joints[i]; (j.Mimic != nil) == mimics {
					if err := dr.urdfJoint(j, robot+"/", opts); err != nil {
						return false, err
					}
				}
			}
		}
		return false, nil
	})
}

func (d *draft) urdfJoint(j *urdf.Joint, prefix string, opts []Option) error {
	parent, child := prefix+j.Parent, prefix+j.Child
	origin := JointOrigin(j)
	origin.check() // rounding; an origin that is none is refused below
	switch j.Type {
	case urdf.Fixed:
		return d.fixed(parent, child, origin, Cov{}, nil)
	case urdf.Planar, urdf.Floating:
		return d.free(parent, child, opts)
	}
	spec := JointSpec{
		Name: prefix + j.Name, Type: j.Type, Origin: origin,
		Axis:  Vec3{j.Axis[0], j.Axis[1], j.Axis[2]},
		Limit: j.Limit,
	}
	if j.Mimic != nil {
		spec.Mimic = &Mimic{Joint: prefix + j.Mimic.Joint, Multiplier: j.Mimic.Multiplier, Offset: j.Mimic.Offset}
	}
	return d.joint(parent, child, spec, opts)
}

// JointOrigin is the pose of a joint's frame in its parent link.
func JointOrigin(j *urdf.Joint) Pose {
	p := Pose{T: Vec3{j.XYZ[0], j.XYZ[1], j.XYZ[2]}}
	if j.Quat != nil {
		p.R = Quat{X: j.Quat[0], Y: j.Quat[1], Z: j.Quat[2], W: j.Quat[3]}
	} else {
		p.R = RPY(j.RPY[0], j.RPY[1], j.RPY[2])
	}
	return p
}
