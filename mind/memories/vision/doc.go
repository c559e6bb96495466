// Package vision looks inside the payloads of the memory Vision: it decodes images
// and writes them as files that other programs open.
//
// It knows foxglove.RawImage and foxglove.CompressedImage. Damaged payloads give an
// error; none makes it crash or allocate more than the image it claims to be,
// which is bounded.
package vision
