package service

import (
	"context"
	"time"

	"github.com/seed-301d4374/engram"
)

// Trainer looks for lessons when a test says so.
type Trainer struct{ t trainer }

func NewTrainer(svc engram.Service, types TypeSource, wait func(time.Time) float64) Trainer {
	return Trainer{trainer{svc: svc, types: types, wait: wait, after: map[engram.ID]engram.Time{}}}
}

func (t *Trainer) Look(ctx context.Context) { t.t.look(ctx, time.Now()) }
