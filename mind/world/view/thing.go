package view

import (
	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mind/world"
	"github.com/seed-301d4374/engram/mind/world/answer"
	"github.com/seed-301d4374/engram/mind/world/files"
)

// Thing returns what is stated as a thing that is asked to be. The error is that of values which no payload can hold.
func Thing(c *world.Codec, s world.Stated) (answer.Thing, error) {
	t := answer.Thing{Name: s.Name, Confidence: s.Confidence, Data: s.Data}
	if w, back := s.What.(world.Withdrawal); back {
		t.Withdrawal = answer.Withdrawal(w)
		return t, nil
	}
	var err error
	if t.Payload, err = c.Encode(s.What); err != nil {
		err = engram.Errorf(engram.CodeOf(err), s.Name, "%w", err)
	}
	return t, err
}

// Things returns what files say as things that are asked to be stated.
func Things(c *world.Codec, content *files.Content) ([]answer.Thing, error) {
	entries := content.Entries()
	all := make([]answer.Thing, len(entries))
	for i := range entries {
		e := &entries[i]
		t, err := Thing(c, e.Stated)
		if err != nil {
			return nil, engram.Errorf(engram.CodeOf(err), e.At, "%w", err)
		}
		t.At, t.Members, t.Partial = e.At, e.Members, e.Partial
		all[i] = t
	}
	return all, nil
}

// entryOf is the reverse of [Thing] and of one of [Things].
func entryOf(c *world.Codec, t *answer.Thing) (files.Entry, error) {
	e := files.Entry{Stated: world.Stated{Name: t.Name, Confidence: t.Confidence, Data: t.Data}, At: t.At, Members: t.Members, Partial: t.Partial}
	if t.Payload.Type == "" {
		e.What = world.Withdrawal(t.Withdrawal)
		return e, nil
	}
	var err error
	e.What, err = c.Decode(t.Payload)
	return e, err
}
