package rpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/seed-301d4374/engram"
)

// maxOperations bounds what [Get] reads.
const maxOperations = 16 << 20

// Get asks for one of the pages that Options.Operations offers, such as /readyz, of a
// server that need not be ready to answer calls; address and o are as for [Dial]. It
// returns the HTTP status and the body. The error is Unavailable if nothing answers.
func Get(ctx context.Context, address, path string, o DialOptions) (status int, body []byte, err error) {
	c, err := newClient(address, o)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return 0, nil, engram.Errorf(engram.Invalid, path, "not a path: %w", err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil, engram.Errorf(engram.Canceled, address, "given up waiting for an answer: %w", context.Cause(ctx))
		}
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err // without the URL, which no user typed
		}
		return 0, nil, engram.Errorf(engram.Unavailable, address, "no server answers: %w", err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(res.Body, maxOperations)); err != nil {
		return 0, nil, engram.Errorf(engram.Unavailable, address, "the answer broke off: %w", err)
	}
	return res.StatusCode, body, nil
}
