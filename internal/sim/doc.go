// Package sim is the built-in simulated robot: a humanoid that lives in a small
// world and reports what it senses, hears and does, at the rates of section 5.2 of
// the ArMem paper (Peller-Konrad et al. 2022). Joint states come at 100 Hz, a
// stereo pair of rendered images at 20 Hz, beside them localization, object poses,
// speech commands and skill events.
//
// The world is a pure function of time and seed: nothing is integrated, so every
// tick can be computed by itself, in any order and by several goroutines, and two
// robots with the same configuration report the same bytes. That is so in times of any kind ([Robot.Step], [Robot.Run]), where
// the robot executes its skills itself and notes that. In real time it can have the memory's executor execute them instead
// ([Robot.Live]); then the world is also a function of what it was asked to do.
//
// The package makes commits; it knows no server and no transport.
//
// It is no public API: the demo, tests and benchmarks share it.
package sim
