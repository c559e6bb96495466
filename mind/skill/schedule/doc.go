// Package schedule decides which executions of skills run, wait and stop.
//
// A Schedule is told of events, each with its time: a request, an abort, a lease, a report of a
// provider, the passing of time. It answers with the executions that have changed, in order. It has
// no clock, no goroutine and no storage: who holds it writes the changes down, and calls Tick when
// Next says. So a test runs an hour in microseconds, and a crash is a new Schedule that Restore
// was called on.
//
// These rules hold:
//
//   - A resource has one holder. Executions that one called share what it holds.
//   - An execution gets all of its resources at once. Of those that wait for a resource the one with
//     the highest priority is next, of equal ones the first to be asked for. One that waits for its
//     provider is passed over.
//   - What was called and is to stop holds its resources until its provider has confirmed that, or can
//     no longer do anything: its lease is over.
//   - A provider keeps a lease by renewing it. It stops by itself what it runs before that ends.
//   - An epoch tells the lives of a provider apart. Of two, the second begins when the first has said
//     that it ends, or when its lease is over.
//   - A provider that does not answer when it is told to stop is fenced: its lease is not renewed any
//     more.
package schedule
