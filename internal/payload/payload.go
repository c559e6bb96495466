// Package payload is what the edges need of the types of payloads without knowing them.
// Package server brings it in: a program that hosts no memory, such as a client, does not
// link what types are compiled with.
//
// It is no public API: several wings share it.
package payload

import (
	"bytes"

	"github.com/seed-301d4374/engram"
)

// Type reads and writes payloads of one type as JSON.
type Type interface {
	JSON(b []byte) ([]byte, error)
	FromJSON(text []byte) ([]byte, error)
}

// Types knows what definitions of types mean.
type Types interface {
	// Parse returns the type that a definition describes. The error is Invalid.
	Parse(def engram.TypeDef) (Type, error)
	// Same reports whether two encoded FileDescriptorSets mean the same.
	Same(a, b []byte) bool
}

// types is set before main begins.
var types Types = unknown{}

// Use sets the types of this program. It is called while the program is initialised.
func Use(t Types) { types = t }

// Parse returns the type that a definition describes. The error is Invalid, or
// Unsupported in a program that hosts no memory.
func Parse(def engram.TypeDef) (Type, error) { return types.Parse(def) }

// Same reports whether two encoded FileDescriptorSets mean the same.
func Same(a, b []byte) bool { return types.Same(a, b) }

// unknown is what a program without package server knows of types.
type unknown struct{}

func (unknown) Parse(def engram.TypeDef) (Type, error) {
	return nil, engram.Errorf(engram.Unsupported, def.Name, "this program does not show payloads as JSON; import engram/server")
}

func (unknown) Same(a, b []byte) bool { return bytes.Equal(a, b) }
