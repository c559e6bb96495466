// Package marker finds square fiducial markers in images and says where they are, each
// with how sure that is: ArUco's 4x4_50 and AprilTag's 36h11, so that markers from any
// printer work. It is the method of the example localiser; the package knows images and
// poses, and no memory.
//
// What it does, in order: an adaptive threshold, the outlines of what is dark, quads of
// them, sub-pixel lines through their sides (weighted gradients), the bits seen through
// the homography, and the pose that fits all edges of the marker best (Gauss-Newton from
// both solutions that a flat square has). Where that leaves the place unsure, as with noise
// and far away, the pose is moved until the marker, drawn as it would be seen, is most like
// the image's grey levels.
//
// Pixel (i, j) has its centre at (i, j). Camera frames are optical: x right, y down, z
// ahead. A marker's frame has its origin in the middle, x to the right and y up as the
// marker is printed, z out of the paper.
package marker
