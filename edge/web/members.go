package web

import (
	"context"
	"net/http"
	"slices"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

// maxMembers bounds the numbers of one payload that are listed.
const maxMembers = 10_000

// numberMember is a member that can be plotted.
type numberMember struct {
	Path string           `json:"path"`
	Type string           `json:"type"`           // such as Double, Bool, Duration, or an enumeration's name
	Unit string           `json:"unit,omitempty"` // as far as the type says
	Keys map[int32]string `json:"keys,omitempty"` // of an enumeration, by number
	Name string           `json:"name,omitempty"` // of an element of a list beside a list of names
	Doc  string           `json:"doc,omitempty"`
}

// members answers which members of an entity are numbers: those of the snapshot that id names, or that is in force at t,
// or the newest. Elements of a list beside a list of names go by these; those of a few snapshots before are told, too.
func (p *plots) members(w http.ResponseWriter, r *http.Request, q query) error {
	m, err := q.asked()
	if err != nil {
		return err
	}
	s, err := p.snapshot(r.Context(), m, true)
	if err != nil {
		return err
	}
	name, list, err := p.numbersIn(r.Context(), &m, s)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(list))
	for _, of := range list {
		known[of.Path] = true
	}
	// Several may write to one entity, each of elements with names of its own.
	for at, n := s.Time, 1; n < lookBack && !m.fixed && slices.ContainsFunc(list, func(of idf.NumberMember) bool { return of.Name != "" }); n++ {
		m.selector = engram.AtOrBefore(at - 1)
		before, err := p.snapshot(r.Context(), m, true)
		if err != nil {
			break
		}
		_, more, err := p.numbersIn(r.Context(), &m, before)
		if err != nil {
			break
		}
		at = before.Time
		for _, of := range more {
			if of.Name != "" && len(list) < maxMembers && !known[of.Path] {
				known[of.Path], list = true, append(list, of)
			}
		}
	}
	out := struct {
		ID      engram.ID      `json:"id"`
		Type    string         `json:"type"`
		Members []numberMember `json:"members"`
		More    bool           `json:"more"` // there may be more members than these
	}{m.entity.At(s.Time).Instance(max(0, m.instance)), name, make([]numberMember, len(list)), len(list) == maxMembers}
	for i, of := range list {
		out.Members[i] = numberMember{Path: of.Path, Type: of.Type, Keys: of.Keys, Doc: of.Doc, Name: of.Name}
		if of.Type == "Duration" || of.Type == "Time" {
			out.Members[i].Unit = "s"
		}
	}
	return answer(w, out)
}

// numbersIn returns the type of what a snapshot says, and which of its members are numbers.
func (p *plots) numbersIn(ctx context.Context, m *asked, s *engram.Snapshot) (name string, list []idf.NumberMember, err error) {
	instance := max(0, m.instance)
	if instance >= len(s.Instances) {
		return "", nil, engram.Errorf(engram.NotFound, m.entity.At(s.Time).Instance(instance).String(), "there is no such instance")
	}
	payload := s.Instances[instance].Payload
	t, err := p.types.get(ctx, payload.Type)
	if err != nil {
		return "", nil, err
	}
	if list, err = t.NumberMembers(payload.Bytes, maxMembers); err != nil {
		return "", nil, err
	}
	return payload.Type, list, t.NameNumbers(payload.Bytes, list)
}
