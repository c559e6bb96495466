package service

import (
	"math"
	"slices"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
	"github.com/seed-301d4374/engram/predict"
)

// answer makes an answer of what was predicted. Where past situations say that there are several outcomes, or that a state
// changes, it is the most probable one, with a band that holds all of them.
func (e *entity) answer(of engram.ID, at engram.Time, f *predict.Forecast, outcomes []predict.Outcome, p *engram.Prediction) error {
	p.Horizon = time.Duration(f.Horizon * 1e9)
	p.From = []engram.ID{of.At(e.last.Time)}
	if e.uses {
		p.From = append(p.From, e.model.id)
	}
	for i := len(e.resets) - 1; i >= 0; i-- {
		if e.resets[i].At <= at {
			p.From = append(p.From, e.resets[i].id)
			break
		}
	}
	var texts []string
	for k := range outcomes {
		o := &outcomes[k]
		h := engram.Hypothesis{Probability: o.Probability}
		for _, t := range o.From {
			h.From = append(h.From, of.At(t))
		}
		one := e.follows(f, o)
		e.members.Normalise(one)
		if k == 0 {
			texts, p.From = e.textsOf(o), append(p.From, h.From...)
		}
		var err error
		if h.Snapshot, err = e.snapshot(at, one.Mean, e.textsOf(o)); err != nil {
			return err
		}
		h.Members, h.Poses = e.told(one), e.poses(one)
		p.Hypotheses = append(p.Hypotheses, h)
	}
	if len(outcomes) > 0 {
		e.mixed(f, p.Hypotheses)
		if len(outcomes) == 1 {
			p.Hypotheses = nil // it is the only one
		}
	}
	var err error
	p.Snapshot, err = e.snapshot(at, f.Mean, texts)
	p.Members, p.Poses = e.told(f), e.poses(f)
	return err
}

// poses are those of which the covariance is known.
func (e *entity) poses(f *predict.Forecast) (all []engram.PredictedPose) {
	for _, pose := range e.members.Poses() {
		if c := pose.Covariance(f); !slices.ContainsFunc(c[:], notTold) {
			all = append(all, engram.PredictedPose{Path: pose.Path, Covariance: c})
		}
	}
	return all
}

// snapshot is the newest one with other numbers and texts, and with its own times moved on; nil texts stay.
func (e *entity) snapshot(at engram.Time, numbers []float64, texts []string) (*engram.Snapshot, error) {
	instance := e.whole.Instances[0]
	v, err := e.members.Type.Decode(instance.Payload.Bytes)
	if err != nil {
		return nil, err
	}
	if v, err = idf.SetNumbers(v, e.members.Paths, numbers); err != nil {
		return nil, err
	}
	for k, text := range texts {
		if text == e.said[k] {
			continue
		}
		if set, err := idf.SetTexts(v, e.texts[k:k+1], []string{text}); err == nil { // one that is gone stays so
			v = set
		}
	}
	if instance.Payload.Bytes, err = e.members.Type.Encode(moved(v, e.whole.Time, at)); err != nil {
		return nil, err
	}
	instance.Sent, instance.HasSent = 0, false
	return &engram.Snapshot{Time: at, Predicted: true, Instances: append([]engram.Instance{instance}, e.whole.Instances[1:]...)}, nil
}

func (e *entity) told(f *predict.Forecast) []engram.PredictedMember {
	members := make([]engram.PredictedMember, len(f.Mean))
	for i := range members {
		members[i] = engram.PredictedMember{Path: e.members.Paths[i], Mean: f.Mean[i], SD: f.SD[i], Low: f.Low[i], High: f.High[i], Model: f.Model[i], Skill: f.Skill[i]}
	}
	return members
}

// Situated is the model of what past situations say.
const Situated = "past situations"

// follows is a forecast of an outcome; numbers of which it says nothing are as f has them.
func (e *entity) follows(f *predict.Forecast, o *predict.Outcome) *predict.Forecast {
	n := len(f.Mean)
	out := &predict.Forecast{Time: f.Time, Horizon: f.Horizon, Mean: make([]float64, n), SD: make([]float64, n), Low: make([]float64, n), High: make([]float64, n), Model: make([]string, n), Skill: make([]float64, n)}
	for i := range n {
		out.Mean[i], out.SD[i], out.Low[i], out.High[i], out.Model[i], out.Skill[i] = f.Mean[i], f.SD[i], f.Low[i], f.High[i], f.Model[i], f.Skill[i]
		if !math.IsNaN(o.Mean[i]) {
			out.Mean[i], out.SD[i], out.Low[i], out.High[i], out.Model[i], out.Skill[i] = o.Mean[i], o.SD[i], o.Low[i], o.High[i], Situated, math.NaN()
		}
	}
	return out
}

// mixed makes a forecast the first of several hypotheses, as unsure as all of them together.
func (e *entity) mixed(f *predict.Forecast, all []engram.Hypothesis) {
	for i := range f.Mean {
		first := all[0].Members[i]
		square, total, other := 0.0, 0.0, 1.0
		f.Low[i], f.High[i] = first.Low, first.High
		for _, h := range all {
			m := h.Members[i]
			off := m.Mean - first.Mean
			square += h.Probability * (m.SD*m.SD + off*off)
			total += h.Probability
			if off == 0 {
				other -= h.Probability
			}
			f.Low[i], f.High[i] = math.Min(f.Low[i], m.Low), math.Max(f.High[i], m.High)
		}
		if f.SD[i] = math.Sqrt(square / total); e.members.Kinds[i] == predict.Held {
			f.SD[i] = max(other, 0)
		}
		f.Mean[i], f.Model[i], f.Skill[i] = first.Mean, first.Model, first.Skill
	}
}

// textsOf are the texts of an outcome; those of which nothing is said are as they were. Nil is none.
func (e *entity) textsOf(o *predict.Outcome) []string {
	if len(e.texts) == 0 {
		return nil
	}
	texts := make([]string, len(e.texts))
	copy(texts, e.said)
	for k, text := range o.Texts {
		if !o.Free[k] {
			texts[k] = text
		}
	}
	return texts
}

// maxTexts bounds the texts of one payload that are looked at.
const maxTexts = 16

// textsOf returns the paths of a payload's texts.
func textsOf(t *idf.Type, b []byte) (paths []string) {
	_ = t.Walk(b, idf.KindString, func(f *idf.Found) bool { // what it did not find is left as it is
		paths = append(paths, string(f.Path))
		return len(paths) < maxTexts
	})
	return paths
}

// readTexts reads the texts of a payload; one that it does not have is empty.
func (e *entity) readTexts(t *idf.Type, b []byte) {
	if len(e.texts) == 0 {
		return
	}
	clear(e.said)
	k := 0
	_ = t.Walk(b, idf.KindString, func(f *idf.Found) bool { // what it did not find is empty
		for i := range e.texts {
			if at := (k + i) % len(e.texts); e.texts[at] == string(f.Path) {
				e.said[at], k = string(f.Bytes), at+1
				break
			}
		}
		return true
	})
}

// numbers is how many numbers a snapshot has that are predicted.
func (s *Service) numbers(n *engram.Snapshot) int {
	if len(n.Instances) == 0 {
		return 0
	}
	t, err := s.typeOf(n.Instances[0].Payload.Type)
	if err != nil {
		return 0
	}
	m, err := predict.MembersOf(t, n.Instances[0].Payload.Bytes)
	if err != nil {
		return 0
	}
	return len(m.Paths)
}
