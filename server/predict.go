package server

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Predict implements engram.Predictor: it asks the Predict hook of each memory for
// the IDs that lie in it. What a hook does not support, and memories without one, package
// predict/service answers from the snapshots. Every ID has its own answer or error.
func (s *Server) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	if err := s.alive(); err != nil {
		return nil, err
	}
	answers := make([]engram.Prediction, len(ids))
	hooks := s.hosted.Load().hooks
	byMemory := map[string][]int{}
	var others []int
	for i, id := range ids {
		answers[i].ID = id
		h := hooks[id.Memory()]
		switch {
		case id.Level() != engram.LevelSnapshot:
			answers[i].Err = engram.Errorf(engram.Invalid, id.String(), "a prediction is asked of an entity at a time, not of a %s", id.Level())
		case h == nil:
			answers[i].Err = engram.Errorf(engram.NotFound, id.String(), "this server hosts no memory %q", id.Memory())
		case h.Predict == nil:
			others = append(others, i)
		default:
			byMemory[id.Memory()] = append(byMemory[id.Memory()], i)
		}
	}
	ask := func(who string, indices []int, predict func(context.Context, []engram.ID) ([]engram.Prediction, error)) {
		asked := make([]engram.ID, len(indices))
		for k, i := range indices {
			asked[k] = ids[i]
		}
		got, err := predict(ctx, asked)
		if err == nil && len(got) != len(asked) {
			err = engram.Errorf(engram.Internal, who, "the memory's Predict hook answered %d of %d IDs", len(got), len(asked))
		}
		for k, i := range indices {
			if err != nil {
				answers[i].Err = asError(err, ids[i])
				continue
			}
			answers[i] = got[k]
			answers[i].ID = ids[i]
			if n := answers[i].Snapshot; n != nil && n.Number == 0 && !n.Predicted {
				marked := *n
				marked.Predicted = true
				answers[i].Snapshot = &marked
			}
		}
	}
	for name, indices := range byMemory {
		ask(name, indices, hooks[name].Predict)
		for _, i := range indices {
			if answers[i].Err != nil && engram.CodeOf(answers[i].Err) == engram.Unsupported {
				others = append(others, i)
			}
		}
	}
	if len(others) > 0 {
		ask("", others, s.predictions.Predict)
	}
	return answers, nil
}
