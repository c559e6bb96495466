package mcp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Bounds of what a search looks at.
const (
	searchSnapshots = 50_000
	searchBytes     = 64 << 20
	searchLarge     = 32 << 10 // a provider segment whose snapshots are larger holds no texts
	searchNewest    = 500      // of each entity, where no range is given
)

type searchIn struct {
	Text   string `json:"text" jsonschema:"words that all must be in the ID or the content; case does not count"`
	ID     string `json:"id,omitempty" jsonschema:"look only in this, such as Speech or Skill/Execution"`
	From   string `json:"from,omitempty" jsonschema:"begin of the time range; without from and to the newest 500 snapshots of each entity are looked at"`
	To     string `json:"to,omitempty" jsonschema:"end of the time range, exclusive"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many snapshots at most, up to 200; default 20"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next of the last answer"`
}

type searchOut struct {
	Found    []hit    `json:"found" jsonschema:"newest first"`
	LookedAt int      `json:"looked_at" jsonschema:"how many snapshots were looked at"`
	Notes    []string `json:"notes,omitempty" jsonschema:"what was not looked at"`
	Next     string   `json:"next,omitempty" jsonschema:"cursor of what follows; nothing if this is all"`
}

type hit struct {
	ID   string `json:"id"`
	URI  string `json:"uri"`
	Time string `json:"time"`
	Type string `json:"type"`
	Text string `json:"text" jsonschema:"the content about the first word"`
}

func (s *Server) search(ctx context.Context, in searchIn) (out searchOut, _ extra, err error) {
	words := strings.Fields(strings.ToLower(in.Text))
	if len(words) == 0 {
		return out, nil, engram.Errorf(engram.Invalid, "text", "give at least one word; list shows what there is")
	}
	limit, err := limitOf(in.Limit, someItems)
	if err != nil {
		return out, nil, err
	}
	t, err := parseTarget(in.ID)
	if err != nil {
		return out, nil, err
	}
	within, err := span(in.From, in.To)
	if err != nil {
		return out, nil, err
	}
	w, err := newWindow("newest", in.Cursor, limit)
	if err != nil {
		return out, nil, err
	}
	m, err := s.reach(ctx)
	if err != nil {
		return out, nil, err
	}
	segments, err := m.Stats(ctx, t.pattern, max(engram.LevelProviderSegment, engram.Level(len(t.pattern.Levels))))
	if err != nil {
		return out, nil, err
	}
	if len(segments) == 0 && in.ID != "" {
		return out, nil, s.absent(ctx, t)
	}
	segments = slices.DeleteFunc(segments, func(n engram.Stats) bool {
		return n.ID.Level() < engram.LevelProviderSegment || n.ID.Memory() == systemMemory && len(t.pattern.Levels) == 0
	})
	slices.SortFunc(segments, func(a, b engram.Stats) int { return cmp.Compare(a.Bytes, b.Bytes) }) // texts are small
	f := finder{s: s, words: words, w: w, hits: map[moment]hit{}, bytes: searchBytes}
	for _, n := range segments {
		if n.Snapshots > 0 && n.Bytes/int64(n.Snapshots) > searchLarge || isImage(n.Type) {
			out.Notes = append(out.Notes, n.ID.String()+" holds large data, such as images, and was not looked at")
			continue
		}
		selector := engram.Latest(searchNewest)
		if in.From != "" || in.To != "" {
			selector = engram.In(w.narrow(within))
		}
		q := engram.PatternOf(n.ID).Select(selector)
		err := m.QueryParts(ctx, q, func(part *engram.Result) error { return f.look(ctx, part) })
		if errors.Is(err, errEnough) {
			out.Notes = append(out.Notes, "the search ended at "+n.ID.String()+", since it had looked at much; narrow it with id, from and to")
			break
		}
		if err != nil {
			return out, nil, err
		}
	}
	if len(out.Notes) > 10 {
		out.Notes = append(out.Notes[:10], "and more")
	}
	out.Found, out.LookedAt = []hit{}, f.looked
	room := answerBytes
	for i, at := range w.kept {
		h := f.hits[at]
		if room -= len(h.ID) + len(h.URI) + len(h.Text) + 150; room < 0 && i > 0 {
			w.kept, w.more = w.kept[:i], true
			break
		}
		out.Found = append(out.Found, h)
	}
	if w.more && len(w.kept) > 0 {
		last := w.kept[len(w.kept)-1]
		out.Next = cursorOf(last.time.String(), last.id.String())
	}
	return out, nil, nil
}

// finder looks for words in snapshots.
type finder struct {
	s      *Server
	words  []string
	w      *window
	hits   map[moment]hit // of what the window keeps, and some that it kept
	looked int
	bytes  int
}

func (f *finder) look(ctx context.Context, part *engram.Result) error {
	for it := range part.All() {
		f.looked++
		f.bytes -= it.Size()
		if f.looked > searchSnapshots || f.bytes < 0 {
			return errEnough
		}
		at := moment{it.Snapshot.Time, it.ID.Truncate(engram.LevelEntity)}
		for _, inst := range it.Instances {
			text := f.text(ctx, inst.Payload)
			if !f.has(at.id.String() + " " + text) {
				continue
			}
			if f.w.add(at) {
				f.hits[at] = hit{it.ID.String(), uriOf(it.ID), timeText(it.Time), inst.Payload.Type, f.about(text)}
			}
			break
		}
	}
	return nil
}

// text returns a payload as text; "" of one that cannot be read.
func (f *finder) text(ctx context.Context, p engram.Payload) string {
	t, err := f.s.typ(ctx, p.Type)
	if err != nil {
		return ""
	}
	text, err := t.Text(p.Bytes, idf.TextOptions{Items: 64})
	if err != nil {
		return ""
	}
	return text
}

func (f *finder) has(text string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(f.words, func(w string) bool { return !strings.Contains(text, w) })
}

// about returns the part of a text about the first word that is in it.
func (f *finder) about(text string) string {
	const before, length = 80, 400
	lower := []rune(strings.ToLower(text))
	runes := []rune(text)
	from := 0
	for _, w := range f.words {
		if i := strings.Index(string(lower), w); i >= 0 && len(lower) == len(runes) {
			from = max(len([]rune(string(lower)[:i]))-before, 0)
			break
		}
	}
	to := min(from+length, len(runes))
	short := string(runes[from:to])
	if from > 0 {
		short = "…" + short
	}
	if to < len(runes) {
		short += "…"
	}
	return short
}
