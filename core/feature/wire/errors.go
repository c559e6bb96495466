package wire

import (
	"github.com/seed-301d4374/engram"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// codesByText finds a code by its words, as [engramv1.Error] holds it.
var codesByText = func() map[string]engram.Code {
	m := map[string]engram.Code{}
	for c := engram.Internal; c <= engram.Forbidden; c++ {
		m[c.String()] = c
	}
	return m
}()

// ErrorMessage returns the message of a domain error, nil for nil.
func ErrorMessage(err error) *engramv1.Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*engram.Error); ok {
		return &engramv1.Error{Code: e.Code.String(), Thing: e.Thing, Message: e.Msg}
	}
	return &engramv1.Error{Code: engram.CodeOf(err).String(), Message: err.Error()}
}

// ErrorFromMessage is the inverse of ErrorMessage.
func ErrorFromMessage(m *engramv1.Error) error {
	if m == nil {
		return nil
	}
	code, ok := codesByText[m.GetCode()]
	if !ok {
		code = engram.Internal
	}
	return &engram.Error{Code: code, Thing: m.GetThing(), Msg: m.GetMessage()}
}

// BadAnswer is the error for a server that answers what cannot be.
func BadAnswer(err error) error {
	return engram.Errorf(engram.Corrupt, "", "the server's answer cannot be understood: %w", err)
}
