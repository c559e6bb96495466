// Package metrics shows what a memory server does as Prometheus metrics.
//
// Everything is read when it is asked for: the hot paths count for themselves (package
// core/meter, the working memory, the recorder) and know nothing of this package.
// Labels are bounded: core segments at most, never entities; see [Sources]. The names
// follow https://prometheus.io/docs/practices/naming/, which a test checks with the
// library's own linter; docs/operations.md explains them.
package metrics
