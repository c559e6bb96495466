// Package edge is the wing of the ways in and out of a memory server: its transports, the page
// in the browser, and recordings. An edge finds out who calls, bounds what a message may cost,
// decodes it, and calls the interfaces of the root package; it holds no data.
//
// Packages of this wing import the root package, core, mind, fleet, each other, gen/ and
// internal/; none of client, node or cmd. The wing's own folder has nothing but this comment.
//
// Calls:
//
//	transport                  picks the way to a server
//	transport/rpc              gRPC, gRPC-Web and HTTP/JSON: handler and client
//	transport/rpc/reflection   what tools such as grpcurl ask of a server
//	transport/local            the fast way between processes of one computer: the same calls over a Unix socket
//	transport/internal/h2      HTTP/2 under the handler of transport/rpc
//	transport/internal/resume  how a subscription goes on after its connection broke
//
// The page:
//
//	web                        the page in the browser (source in web/app), and pieces of the memory made for a screen
//
// Recordings:
//
//	ingest                     recordings into a memory: mapping, conversion, runner; export
//	ingest/recording           reads MCAP, ROS 1 bags and rosbag2, damaged ones too
//	ingest/internal/rosmsg     ROS messages to protobuf
package edge
