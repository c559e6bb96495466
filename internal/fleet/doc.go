// Package fleet tests Engram as it is used by several robots: two robots with two
// computers each and a base station, as real processes on hosts of internal/netlab,
// joined by radio links that are cut, lossy and slow, with processes that are killed
// at any time. What producers were promised is compared with what owners and copies
// hold: nothing lost, nothing doubled, nothing out of order.
package fleet
