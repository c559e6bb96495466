package server

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/internal/payload"
)

func init() { payload.Use(payloadTypes{}) }

// payloadTypes is what the edges before a server know of types: package idf.
type payloadTypes struct{}

func (payloadTypes) Parse(def engram.TypeDef) (payload.Type, error) {
	t, err := idf.ParseType(def)
	if err != nil {
		return nil, err
	}
	return payloadType{t}, nil
}

func (payloadTypes) Same(a, b []byte) bool { return idf.SameDescriptors(a, b) }

type payloadType struct{ *idf.Type }

func (t payloadType) JSON(b []byte) ([]byte, error) {
	return t.Type.JSON(b, idf.JSONOptions{SummarizeBytes: -1})
}
