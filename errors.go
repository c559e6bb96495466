package engram

import (
	"context"
	"errors"
	"fmt"
)

// Code says what kind of thing went wrong. There are few, and each edge (gRPC,
// HTTP, the command line) maps them once.
//
// A Code is itself an error, so that errors.Is(err, engram.NotFound) works on
// everything this module returns.
type Code uint8

const (
	// Internal is a defect of Engram or of the machine below it.
	Internal Code = iota + 1
	// Invalid input: it can never succeed as it is.
	Invalid
	// NotFound names something that does not exist.
	NotFound
	// AlreadyExists names something that exists and was to be made.
	AlreadyExists
	// TypeMismatch is a payload or type that does not fit its segment.
	TypeMismatch
	// OutOfRange is a value beyond what can be represented or is allowed.
	OutOfRange
	// TooOld asks for something that was kept once and is no more.
	TooOld
	// TooNew asks for something that may exist later; the only code worth waiting for.
	TooNew
	// Conflict is a change that contradicts another one.
	Conflict
	// Unavailable is a server or part that is away; trying again may help.
	Unavailable
	// Exhausted is a limit that was reached: size, breadth, count, rate.
	Exhausted
	// Corrupt is stored or received data that is damaged.
	Corrupt
	// Canceled is a call given up by its caller or past its deadline.
	Canceled
	// Unsupported is something this memory, segment or edge does not offer.
	Unsupported
	// Forbidden is something that the rules do not let the caller do.
	Forbidden
)

var codeNames = [...]string{
	Internal: "internal", Invalid: "invalid", NotFound: "not found",
	AlreadyExists: "already exists", TypeMismatch: "type mismatch",
	OutOfRange: "out of range", TooOld: "too old", TooNew: "too new",
	Conflict: "conflict", Unavailable: "unavailable", Exhausted: "exhausted",
	Corrupt: "corrupt", Canceled: "canceled", Unsupported: "unsupported",
	Forbidden: "forbidden",
}

// String returns the code's words, such as "not found".
func (c Code) String() string {
	if int(c) < len(codeNames) && codeNames[c] != "" {
		return codeNames[c]
	}
	return fmt.Sprintf("code %d", uint8(c))
}

// Error makes a code usable as the target of errors.Is.
func (c Code) Error() string { return c.String() }

// Error is the error type of the whole module.
type Error struct {
	Code  Code
	Thing string // the ID, name, file or member it is about; may be empty
	Msg   string // what is wrong, the value, and what to do
	Err   error  // the cause; may be nil
}

// Errorf makes an Error about thing. If the format holds %w, the wrapped error
// becomes the cause and its text stands where %w stood.
func Errorf(code Code, thing, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Thing: thing, Msg: err.Error(), Err: errors.Unwrap(err)}
}

// Error returns "thing: message", or the message alone.
func (e *Error) Error() string {
	msg := e.Msg
	if msg == "" {
		msg = e.Code.String()
	}
	if e.Thing == "" {
		return msg
	}
	return e.Thing + ": " + msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is this error's code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// CodeOf returns the code of err: that of the outermost [Error] in its chain,
// Canceled for a context's end, Internal for any other error, 0 for nil.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if c, ok := errors.AsType[Code](err); ok {
		return c
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Canceled
	}
	return Internal
}
