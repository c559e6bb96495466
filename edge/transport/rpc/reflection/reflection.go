// Package reflection tells tools such as grpcurl what services a server has and what their
// messages are (gRPC's server reflection, v1 and v1alpha). It is apart from package rpc, so
// that programs that only call carry none of it.
package reflection

import (
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
)

// Handlers returns the handlers of server reflection for the services, by their paths. It is
// made for [rpc.Options].Reflection.
//
// [rpc.Options]: https://pkg.go.dev/github.com/seed-301d4374/engram/edge/transport/rpc#Options
func Handlers(services []string, o ...connect.HandlerOption) map[string]http.Handler {
	r := grpcreflect.NewStaticReflector(services...)
	v1, handler := grpcreflect.NewHandlerV1(r, o...)
	alpha, handlerAlpha := grpcreflect.NewHandlerV1Alpha(r, o...)
	return map[string]http.Handler{v1: handler, alpha: handlerAlpha}
}
