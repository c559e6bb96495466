package foxglove

import (
	"context"
	"encoding/json"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/foxglove/protocol"
)

// API makes the calls of the server's API as JSON, for services.
type API interface {
	// Procedures returns the paths of the calls with one request and one answer, such as
	// /engram.v1.MemoryService/Query, sorted.
	Procedures() []string
	// Call makes a call with a request as JSON and returns the answer as JSON.
	Call(ctx context.Context, procedure string, request []byte) ([]byte, error)
}

// anything is a schema that every JSON object satisfies: docs/http.md says what a call takes.
const anything = `{"type":"object"}`

// services returns what the viewer may call: a service is called as its procedure, its
// number is the place in the list.
func (d *Door) services() []protocol.Service {
	infos := []protocol.Service{}
	if d.o.API == nil {
		return infos
	}
	for i, name := range d.o.API.Procedures() {
		of := func(what string) protocol.ServiceSchema {
			return protocol.ServiceSchema{Encoding: "json", SchemaName: name + what, SchemaEncoding: "jsonschema", Schema: anything}
		}
		infos = append(infos, protocol.Service{ID: uint32(i + 1), Name: name, Type: name, Request: of("Request"), Response: of("Response")})
	}
	return infos
}

func (s *session) callService(ctx context.Context, service, call uint32, encoding string, request []byte) error {
	fail := func(err error) error {
		return s.send(ctx, protocol.ServiceFailure{Op: "serviceCallFailure", ServiceID: service, CallID: call, Message: err.Error()})
	}
	var procedures []string
	if s.door.o.API != nil {
		procedures = s.door.o.API.Procedures()
	}
	switch {
	case service == 0 || int(service) > len(procedures):
		return fail(engram.Errorf(engram.NotFound, "service", "there is no service %d", service))
	case encoding != "json":
		return fail(engram.Errorf(engram.Unsupported, procedures[service-1], "services are called with json, not with %q", encoding))
	}
	return s.call(ctx, func(ctx context.Context) (bool, []byte) {
		answer, err := s.door.o.API.Call(ctx, procedures[service-1], request)
		if err == nil {
			return false, protocol.AppendServiceAnswer(nil, service, call, "json", answer)
		}
		b, err := json.Marshal(protocol.ServiceFailure{Op: "serviceCallFailure", ServiceID: service, CallID: call, Message: err.Error()})
		if err != nil {
			return true, nil
		}
		return true, b
	})
}
