// Package robots lets the name systems of several robots know each other's names.
//
// Every server of a robot with a name is announced on the message fabric, on
//
//	engram.names.<robot>.<server>
//
// as JSON ([Announcement]): in full when it changes, when somebody asks on
// engram.names, and every few seconds as a heartbeat that only says that the last one still
// holds. What is announced of other robots is kept under a lease, by the clock of who
// hears it, and offered by [Fleet], a registry over the robot's own one, as
// "robot1:Object". A robot that is out of reach for longer than the lease has no
// entries any more, but for those of which somebody within reach holds copies.
//
// Nothing here is agreed upon: each robot's names are its own business, and what it
// knows of others may be late by a moment.
package robots
