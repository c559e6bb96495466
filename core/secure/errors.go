package secure

import (
	"errors"
	"syscall"
)

// tooMany reports whether accepting failed for want of something that others give
// back, or because a client has gone again.
func tooMany(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ECONNABORTED)
}
