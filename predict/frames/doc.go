// Package frames says what the next images of a camera will be: as luma, at reduced size, each with its
// uncertainty.
//
// The motion between the last two frames is found by matching blocks, coarse to fine. The last frame is moved on by it. A
// ridge regression for each of four classes of pixels, by how much changed around them, blends that with what was there
// lately and with smoothed frames. A [Model] holds these regressions for the next frame and the one after.
//
// A [Tracker] follows one camera: it learns from the last frames as they come, and judges each prediction before it learns
// from what became of it. What proves no better than the last frame is not used.
//
// The package knows no payloads, no server and no clock.
package frames
