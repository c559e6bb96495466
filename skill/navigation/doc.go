// Package navigation drives a robot over a flat floor: where it can be ([Costmap], [Floor]), how it
// comes to a goal ([GridPlanner], or any other [Planner]), and going there ([Navigator]).
//
// To drive a platform over an occupancy grid of the world, with all that stands on it:
//
//	floor, err := navigation.OpenFloor(ctx, model, "depot", navigation.FloorOptions{
//		Inflation: navigation.Inflation{Radius: 0.3}, Robot: "worker"})
//	go floor.Follow(ctx) // the cost map follows the world; Close ends it
//	n, err := navigation.New(ctx, navigation.Options{
//		Floor: floor, Platform: platform, Clock: clock, Record: svc, Robot: "worker"})
//	result, err := n.Go(ctx, navigation.Goal{Pose2D: at, Request: request, Execution: execution})
//
// Go returns when the robot is there, or stands; ending ctx has it stop. A plan is a snapshot of
// Navigation/Plan, what happens on the way are snapshots of Navigation/Event, the end is one of
// Navigation/Result; all link to request, execution and plan. A [Platform] is four methods; [Simulated]
// is one without hardware, and [ScaledClock] a time that runs faster.
//
// Coordinates are metres in the frame of the map; angles are radians about z, from x to y. The
// package knows no server and no transport, and has no time but that of its [Clock].
package navigation
