package web

import (
	"net/http"

	"github.com/seed-301d4374/engram"
)

// maxMembers bounds the numbers of one payload that are listed.
const maxMembers = 10_000

// numberMember is a member that can be plotted.
type numberMember struct {
	Path  string           `json:"path"`
	Type  string           `json:"type"`            // such as Double, Bool, Duration, or an enumeration's name
	Unit  string           `json:"unit,omitempty"`  // as far as the type says
	Keys  map[int32]string `json:"keys,omitempty"`  // of an enumeration, by number
	Label string           `json:"label,omitempty"` // of an element of a list beside a list of names: its name
	Doc   string           `json:"doc,omitempty"`
}

// members answers which members of an entity are numbers: those of the snapshot that id names, or that is in force at t,
// or the newest.
func (p *plots) members(w http.ResponseWriter, r *http.Request, q query) error {
	m, err := q.asked()
	if err != nil {
		return err
	}
	s, err := p.snapshot(r.Context(), m, true)
	if err != nil {
		return err
	}
	instance := max(0, m.instance)
	if instance >= len(s.Instances) {
		return engram.Errorf(engram.NotFound, m.entity.At(s.Time).Instance(instance).String(), "there is no such instance")
	}
	payload := s.Instances[instance].Payload
	t, err := p.types.get(r.Context(), payload.Type)
	if err != nil {
		return err
	}
	list, err := t.NumberMembers(payload.Bytes, maxMembers)
	if err != nil {
		return err
	}
	labels, err := t.NumberLabels(payload.Bytes, list)
	if err != nil {
		return err
	}
	out := struct {
		ID      engram.ID      `json:"id"`
		Type    string         `json:"type"`
		Members []numberMember `json:"members"`
		More    bool           `json:"more"` // there may be more members than these
	}{m.entity.At(s.Time).Instance(instance), payload.Type, make([]numberMember, len(list)), len(list) == maxMembers}
	for i, of := range list {
		out.Members[i] = numberMember{Path: of.Path, Type: of.Type, Keys: of.Keys, Doc: of.Doc, Label: labels[of.Path]}
		if of.Type == "Duration" || of.Type == "Time" {
			out.Members[i].Unit = "s"
		}
	}
	return answer(w, out)
}
