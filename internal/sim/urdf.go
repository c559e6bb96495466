package sim

import (
	"fmt"
	"strings"
)

// URDF returns the robot's model: every joint of the body and the cameras.
func URDF(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\"?>\n<robot name=%q>\n  <link name=%q/>\n", name, baseFrame)
	for i := range body {
		j := &body[i]
		kind, parent := "revolute", baseFrame
		if j.prismatic {
			kind = "prismatic"
		}
		if j.parent >= 0 {
			parent = body[j.parent].link
		}
		urdfJoint(&b, j.name, kind, parent, j.link, j.origin, "0 0 0")
		fmt.Fprintf(&b, "    <axis xyz=\"%g %g %g\"/>\n", j.axis.X, j.axis.Y, j.axis.Z)
		fmt.Fprintf(&b, "    <limit lower=\"%g\" upper=\"%g\" effort=\"%g\" velocity=\"3\"/>\n  </joint>\n", j.lower, j.upper, 3*j.load)
	}
	for side, frame := range [2]string{leftCameraFrame, rightCameraFrame} {
		origin := cameraInHead.Apply(vec3{X: float64(side) * stereoBaseline})
		// The optical frame's axes, as URDF's fixed rotations about x, y and z.
		urdfJoint(&b, frame+"_joint", "fixed", body[neckPitch].link, frame, origin, "-1.5707963267948966 0 -1.5707963267948966")
		b.WriteString("  </joint>\n")
	}
	for side, s := range sideNames {
		urdfJoint(&b, s+"_tcp_joint", "fixed", body[hand(side)].link, tcpFrame(side), tcpInHand.T, "0 0 0")
		b.WriteString("  </joint>\n")
	}
	b.WriteString("</robot>\n")
	return b.String()
}

func urdfJoint(b *strings.Builder, name, kind, parent, child string, origin vec3, rpy string) {
	fmt.Fprintf(b, "  <link name=%q/>\n  <joint name=%q type=%q>\n", child, name, kind)
	fmt.Fprintf(b, "    <parent link=%q/>\n    <child link=%q/>\n", parent, child)
	fmt.Fprintf(b, "    <origin xyz=\"%.9g %.9g %.9g\" rpy=\"%s\"/>\n", origin.X, origin.Y, origin.Z, rpy)
}

// tcpFrame is the name of a hand's tool centre point.
func tcpFrame(side int) string { return sideNames[side] + "_hand_tcp" }
