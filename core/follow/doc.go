// Package follow keeps views of what is committed.
//
// A view is what a program makes of memories and keeps in RAM: an index, a graph, a forest. It
// can be thrown away: all of it comes back from the memories. A [Follower] subscribes for a
// [View] and gives it the updates in their order. The view reads a memory anew after a loss,
// after a restart of its server, and when it meets the memory for the first time. A broken
// subscription is made again. Calls to a server that is away are repeated, with growing pauses.
//
// A writer waits with its [Mark] until the view has the write ([Follower.Wait]). In the
// server's process, [Follower.Pull] brings a view up to all commits before the call. A [Past]
// compares a view with an earlier time or belief. The view of that time is made from the present
// one where few snapshots differ.
//
// [Shared] keeps a view for each scope of its askers.
package follow
