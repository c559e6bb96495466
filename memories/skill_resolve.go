package memories

import (
	"context"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/skill"
)

// resolve returns a request's parameters as its provider gets them: with defaults, checked, and with what
// names in them stand for.
func (s *skills) resolve(ctx context.Context, d *skill.Description, given any) (any, error) {
	parameters, err := s.types.Parameters(d, given)
	if err != nil {
		return nil, err
	}
	parameters, err = s.symbols.resolve(ctx, d, parameters)
	if engram.CodeOf(err) == engram.NotFound {
		return nil, &skill.Failure{Code: skill.CodeParameters, Message: strings.ReplaceAll(err.Error(), "\n", "; "), Retry: skill.RetryLater}
	}
	return parameters, err
}
