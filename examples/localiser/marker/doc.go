// Package marker finds square fiducial markers in grey images and tells where they are.
//
// A [Detector] returns the markers of its families, with corners to a fraction of a pixel
// and their covariance. [Locate] makes a pose of the corners, the edge's length and the
// camera. [Draw] draws markers, for printing and for tests.
//
//	detector, err := marker.NewDetector(marker.Options{Families: []*marker.Family{marker.AprilTag36h11()}})
//	result, err := detector.Detect(grey)
//	estimate, err := marker.Locate(&result.Detections[0], 0.15, &cam, nil)
//
// # Frames
//
// Image coordinates are pixels, and the centre of pixel (i, j) is (i, j). The camera's frame
// has x to the right, y down and z along the line of sight (package camera). The marker's
// frame has its origin in the marker's centre, x to the right and y up as the marker is
// printed, and z out of the paper, towards who reads it. Its edge is that of the black
// border, outside to outside. The corners come in this order:
//
//	0 (-½, +½)  ──  1 (+½, +½)        top left, top right
//	     │                │
//	3 (-½, -½)  ──  2 (+½, -½)        bottom left, bottom right
//
// A pose is cameraFromMarker, and its covariance is that of [pose.Cov]: a right
// perturbation in the marker's axes, translation first, metres and radians.
//
// # Method
//
// A pixel is dark if it is below the middle between the darkest and the brightest around
// it. The outlines of dark regions that have four straight sides are candidates. Lines are
// fitted to the edges of each: across a side, the centre of the brightness gradient tells
// where the edge is, to a fraction of a pixel. The corners are where the lines meet. The
// cells are then read through the homography of the corners, against planes fitted to the
// black border and to the white around it, and the code is looked up.
package marker
