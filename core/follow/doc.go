// Package follow keeps views of what is committed.
//
// A view is what a program makes of memories and keeps in RAM: an index, a graph, a forest. It
// can be thrown away, since all that it has comes back from the memories. A [Follower]
// subscribes for a [View], gives it the updates in their order, and has it read anew what was
// lost on the way, what belongs to a server that began anew, and memories that it meets for the
// first time. It subscribes again when a subscription breaks, and tries again, after pauses that
// grow, what a server that is away could not answer.
//
// Who has written something waits with its [Mark] until the view has it ([Follower.Wait]). In
// the process of the server, [Follower.Pull] brings a view up to all that was committed before
// the call. A [Past] tells what of a view was otherwise at a time, as of a belief, so that a view
// of that time is made from the present one where that is less than reading everything.
//
// A view of a server's memories for each set of rights that somebody asks with is kept by
// [Shared].
package follow
