package feature

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
)

// Within returns a Conn to a server in this process, for faces of its memory that use what
// any client uses. It makes unary calls; all else is Unsupported. The rules that hold are
// those of the server: see [Guard].
func Within(s Server) Conn { return within{s} }

type within struct{ server Server }

// Call implements [Conn].
func (w within) Call(ctx context.Context, procedure string, request, answer proto.Message) error {
	service, name, _ := strings.Cut(strings.TrimPrefix(procedure, "/"), "/")
	for _, f := range w.server.Features() {
		if f.Service != service {
			continue
		}
		for i := range f.Calls {
			if c := &f.Calls[i]; c.Name == name && c.Unary != nil {
				m, err := c.Unary(ctx, request)
				if err == nil {
					proto.Merge(answer, m)
				}
				return err
			}
		}
	}
	return engram.Errorf(engram.Unsupported, procedure, "the server offers no such call with one answer")
}

// Open implements [Conn].
func (within) Open(_ context.Context, procedure string, _ proto.Message) (ClientStream, error) {
	return nil, engram.Errorf(engram.Unsupported, procedure, "a call within the process has one answer")
}
