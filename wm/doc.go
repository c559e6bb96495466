// Package wm is the working memory: the hierarchy and its time index in RAM,
// within bounds, with one change feed.
//
// A [WM] holds any number of memories. Writers are serialised per WM; readers
// never wait for them, they get an immutable view of an entity's timeline. Every
// stored snapshot gets the next update number, and one feed hands updates to all
// subscriptions in that order.
//
// The package knows no transport and no disk.
package wm
