package rpc

import (
	"fmt"
	"net/http"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// timesHeader is the header of requests whose answers in JSON shall have times as
// nanoseconds, as protobuf's JSON has the integers that they are.
const timesHeader, timesNanoseconds = "Engram-Times", "nanoseconds"

// strictJSON is the codec of HTTP/JSON. Connect's own ignores members that a
// message does not have, so that a mistyped "where" would answer without a filter;
// this one refuses them. It reads times in all their forms, and writes one.
type strictJSON struct {
	name        string
	nanoseconds bool // how it writes times; else RFC 3339
}

// withStrictJSON takes the place of Connect's codecs for JSON.
func withStrictJSON(nanoseconds bool) connect.HandlerOption {
	return connect.WithHandlerOptions(
		connect.WithCodec(strictJSON{"json", nanoseconds}),
		connect.WithCodec(strictJSON{"json; charset=utf-8", nanoseconds}),
	)
}

// handle serves a service, with the times of its JSON as a request wants them.
func (h *Handler) handle(service func(...connect.HandlerOption) (string, http.Handler), opts ...connect.HandlerOption) {
	path, text := service(append(opts, withStrictJSON(false))...)
	_, numbers := service(append(opts, withStrictJSON(true))...)
	h.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		switch times := r.Header.Get(timesHeader); times {
		case "":
			text.ServeHTTP(w, r)
		case timesNanoseconds:
			numbers.ServeHTTP(w, r)
		default:
			http.Error(w, fmt.Sprintf("%s: %q is not known; write %q, or nothing for RFC 3339", timesHeader, times, timesNanoseconds), http.StatusBadRequest)
		}
	})
}

func (c strictJSON) Name() string { return c.name }

func (c strictJSON) Marshal(message any) ([]byte, error) {
	m, err := messageOf(message)
	if err != nil {
		return nil, err
	}
	j, err := protojson.Marshal(m)
	if err != nil || c.nanoseconds {
		return j, err
	}
	return timesAsText(j, shapeOf(m))
}

func (c strictJSON) Unmarshal(data []byte, message any) error {
	m, err := messageOf(message)
	if err != nil {
		return err
	}
	if len(data) == 0 {
		return fmt.Errorf("the body is empty; an empty request is {}")
	}
	return readJSON(data, m)
}

// readJSON reads a message of the API, with times in any of their forms.
func readJSON(data []byte, m proto.Message) error {
	data, err := timesAsNumbers(data, shapeOf(m))
	if err != nil {
		return err
	}
	return protojson.Unmarshal(data, m)
}

var timeShapes sync.Map // message's full name → *timeShape

// shapeOf returns where the times of a message are. Each is made once.
func shapeOf(m proto.Message) *timeShape {
	d := m.ProtoReflect().Descriptor()
	if s, ok := timeShapes.Load(d.FullName()); ok {
		return s.(*timeShape)
	}
	s, _ := timeShapes.LoadOrStore(d.FullName(), timesOf(d, map[protoreflect.FullName]*timeShape{}))
	return s.(*timeShape)
}
