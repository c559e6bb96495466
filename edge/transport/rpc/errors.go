package rpc

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature/wire"
	"github.com/seed-301d4374/engram/core/secure"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// wireCodes maps the codes of the domain to those of RPC, of which there are
// fewer; the detail says which one it was.
var wireCodes = map[engram.Code]connect.Code{
	engram.Internal:      connect.CodeInternal,
	engram.Invalid:       connect.CodeInvalidArgument,
	engram.NotFound:      connect.CodeNotFound,
	engram.AlreadyExists: connect.CodeAlreadyExists,
	engram.TypeMismatch:  connect.CodeInvalidArgument,
	engram.OutOfRange:    connect.CodeOutOfRange,
	engram.TooOld:        connect.CodeOutOfRange,
	engram.TooNew:        connect.CodeOutOfRange,
	engram.Conflict:      connect.CodeAborted,
	engram.Unavailable:   connect.CodeUnavailable,
	engram.Exhausted:     connect.CodeResourceExhausted,
	engram.Corrupt:       connect.CodeDataLoss,
	engram.Canceled:      connect.CodeCanceled,
	engram.Unsupported:   connect.CodeUnimplemented,
	engram.Forbidden:     connect.CodePermissionDenied,
}

// domainCodes is the way back for errors without a detail: those of the RPC layer
// itself, of a proxy, or of another server than ours.
var domainCodes = map[connect.Code]engram.Code{
	connect.CodeInvalidArgument:    engram.Invalid,
	connect.CodeNotFound:           engram.NotFound,
	connect.CodeAlreadyExists:      engram.AlreadyExists,
	connect.CodeOutOfRange:         engram.OutOfRange,
	connect.CodeAborted:            engram.Conflict,
	connect.CodeFailedPrecondition: engram.Invalid,
	connect.CodePermissionDenied:   engram.Forbidden,
	connect.CodeUnauthenticated:    engram.Forbidden,
	connect.CodeUnavailable:        engram.Unavailable,
	connect.CodeResourceExhausted:  engram.Exhausted,
	connect.CodeDataLoss:           engram.Corrupt,
	connect.CodeCanceled:           engram.Canceled,
	connect.CodeDeadlineExceeded:   engram.Canceled,
	connect.CodeUnimplemented:      engram.Unsupported,
}

// wireError maps an error of the service to one of RPC.
func wireError(err error) error {
	if err == nil {
		return nil
	}
	if ce, ok := err.(*connect.Error); ok {
		return ce // it was mapped before
	}
	if _, ours := errors.AsType[*engram.Error](err); !ours {
		if ce, ok := errors.AsType[*connect.Error](err); ok {
			return ce // of the RPC layer itself: a message too large, not to be decoded …
		}
	}
	code, ok := wireCodes[engram.CodeOf(err)]
	if !ok {
		code = connect.CodeInternal
	}
	if errors.Is(err, context.DeadlineExceeded) {
		code = connect.CodeDeadlineExceeded
	}
	ce := connect.NewError(code, err)
	if d, detailErr := connect.NewErrorDetail(wire.ErrorMessage(err)); detailErr == nil {
		ce.AddDetail(d)
	}
	return ce
}

// domainError maps an error of RPC to one of the domain, which names the server where
// the error itself does not say what it is about.
func (c *Client) domainError(ctx context.Context, err error) error {
	address := c.address
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if e, ok := err.(*engram.Error); ok {
		return e // found on this side, before anything was sent
	}
	if cause := ctx.Err(); cause != nil {
		return engram.Errorf(engram.Canceled, address, "the call was given up: %w", cause)
	}
	ce, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return engram.Errorf(engram.Unavailable, address, "the memory server does not answer: %w", err)
	}
	for _, d := range ce.Details() {
		if v, err := d.Value(); err == nil {
			if m, ok := v.(*engramv1.Error); ok {
				e := wire.ErrorFromMessage(m).(*engram.Error)
				if ce.Code() == connect.CodeDeadlineExceeded {
					e.Err = context.DeadlineExceeded
				}
				return disbelief(ce, e)
			}
		}
	}
	code, ok := domainCodes[ce.Code()]
	if !connect.IsWireError(ce) {
		switch code {
		case engram.Exhausted, engram.Unsupported, engram.Invalid:
			// A message over this client's limit, or what is no memory server.
		default:
			if e, ok := errors.AsType[*engram.Error](ce); ok && e.Code == engram.Forbidden {
				return e // found when connecting
			}
			if secure.Refused(ce) || c.refused.Load() {
				return engram.Errorf(engram.Forbidden, address, "the server does not accept this program's certificate, or no longer; it may be revoked, expired, or of another deployment: %w", ce.Unwrap())
			}
			// The connection broke, or never was; what it broke in the middle of
			// decides the code.
			return engram.Errorf(engram.Unavailable, address, "the memory server does not answer: %w", ce.Unwrap())
		}
	}
	if !ok {
		code = engram.Internal
	}
	return &engram.Error{Code: code, Thing: address, Msg: ce.Message(), Err: ce}
}
