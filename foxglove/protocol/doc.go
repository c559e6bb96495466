// Package protocol has the messages of Foxglove's WebSocket protocol, those of servers
// and those of clients, and takes the binary ones apart. It knows no connection and no
// memory.
//
// Text messages are JSON objects with the member "op". Binary ones begin with a byte that
// says what they are; numbers are little-endian, times are nanoseconds since 1970.
//
// Source: https://github.com/foxglove/ws-protocol (docs/spec.md), and for foxglove.sdk.v1
// the SDK of the same authors.
package protocol

// The versions of the protocol, as subprotocols of WebSocket. They have the same messages;
// [SDK] has the control of a playback, too.
const (
	SDK    = "foxglove.sdk.v1"
	Legacy = "foxglove.websocket.v1"
)

// Subprotocols are the versions, the preferred first.
var Subprotocols = []string{SDK, Legacy}
