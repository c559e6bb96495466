// Package secure finds out who is at the other end of a connection: by mutual TLS on
// TCP and on connections through the backbone, by the kernel's word on Unix sockets. It
// keeps those out that have no rights any more, and closes what they have open.
//
// Without credentials and without rules it does nothing.
package secure
