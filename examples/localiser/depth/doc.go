// Package depth finds boxes that stand on a plane in images of depth, where there is no
// marker to go by.
//
// [Find] looks for the largest plane, or the largest that is level if it is told where up
// is, takes together what stands on it, and fits a box to each. Boxes are named by their
// size: a [Class] is a box whose three edges are known. A box looks the same in several
// orientations; a [Match] says in which.
//
//	scene, err := depth.Find(&depth.Image{Width: 640, Height: 480, Z: metres}, &cam, depth.Options{
//		Classes: []depth.Class{{Name: "cereal", Size: pose.Vec3{X: 0.19, Y: 0.06, Z: 0.29}}},
//	})
//
// # Frames
//
// Depths are metres along the line of sight (z of the camera's frame, not the length of the
// ray), as Kinect, RealSense and ROS have them; 0, NaN and infinity mean none. The camera's
// frame is that of package camera. A box's frame has its origin in the box's centre, z up,
// away from the plane, and x along the longer of the horizontal edges. A class's frame has
// its origin in the centre and the axes along which its size is given. A pose is
// cameraFromBox, and its covariance that of [pose.Cov]: a right perturbation in the box's
// axes, translation first, metres and radians.
//
// # Limits
//
// The camera must look from above, so that it sees a box's upper face as a whole. Boxes that
// are less than about 3 cm apart in space and in the image count as one. What reaches out of
// the image is left out.
package depth
