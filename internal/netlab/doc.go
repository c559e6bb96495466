// Package netlab builds hosts on one machine for tests and benchmarks of what
// crosses a network: network namespaces with real kernels' TCP between them, joined
// by wires and by radio links that lose, delay, throttle and can be cut.
//
// A radio link is a pair of TUN devices, one in each namespace, between which this
// process carries every packet, or does not; so loss is loss of packets, which TCP
// has to live with, on machines without the kernel's netem too.
//
// It runs on Linux as root, for whom [New] can make namespaces; else New returns an
// Unsupported error that says what is missing, and tests skip.
//
// It is no public API: tests and benchmarks share it.
package netlab
