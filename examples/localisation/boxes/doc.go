// Package boxes finds box-like things in depth images: the planes that things stand on
// (RANSAC), what stands on them as clusters of points, and around each cluster the box
// that fits its visible sides. It knows depth and poses, and no memory.
//
// A depth image shows one side of things: the sizes of a box along the line of sight are
// what is seen of it, and [Match] fills in what a class of objects is known to have.
package boxes
