package server

import (
	"context"

	"github.com/seed-301d4374/engram"
)

// Predict implements engram.Predictor: it asks the Predict hook of each memory for
// the IDs that lie in it. Every ID has its own answer or error.
func (s *Server) Predict(ctx context.Context, ids []engram.ID) ([]engram.Prediction, error) {
	if err := s.Alive(); err != nil {
		return nil, err
	}
	answers := make([]engram.Prediction, len(ids))
	hooks := s.hosted.Load().hooks
	byMemory := map[string][]int{}
	for i, id := range ids {
		answers[i].ID = id
		h := hooks[id.Memory()]
		switch {
		case id.Level() != engram.LevelSnapshot:
			answers[i].Err = engram.Errorf(engram.Invalid, id.String(), "a prediction is asked of an entity at a time, not of a %s", id.Level())
		case h == nil:
			answers[i].Err = engram.Errorf(engram.NotFound, id.String(), "this server hosts no memory %q", id.Memory())
		case h.Predict == nil:
			answers[i].Err = engram.Errorf(engram.Unsupported, id.String(), "the memory %s predicts nothing", id.Memory())
		default:
			byMemory[id.Memory()] = append(byMemory[id.Memory()], i)
		}
	}
	for name, indices := range byMemory {
		asked := make([]engram.ID, len(indices))
		for k, i := range indices {
			asked[k] = ids[i]
		}
		got, err := hooks[name].Predict(ctx, asked)
		if err == nil && len(got) != len(asked) {
			err = engram.Errorf(engram.Internal, name, "the memory's Predict hook answered %d of %d IDs", len(got), len(asked))
		}
		for k, i := range indices {
			if err != nil {
				answers[i].Err = asError(err, ids[i])
				continue
			}
			answers[i] = got[k]
			answers[i].ID = ids[i]
		}
	}
	return answers, nil
}
