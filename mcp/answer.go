package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/idf"
)

// Bounds of answers, in bytes of JSON where nothing else is said.
const (
	answerBytes   = 32 << 10
	snapshotBytes = 6 << 10 // of one of several
	resourceBytes = 512 << 10
	mostItems     = 200
	someItems     = 20 // without a limit
)

// limitOf returns how many items are wanted, standard if nothing is said.
func limitOf(given, standard int) (int, error) {
	if given < 0 || given > mostItems {
		return 0, engram.Errorf(engram.OutOfRange, strconv.Itoa(given), "limit is from 1 to %d", mostItems)
	}
	return cmp.Or(given, standard), nil
}

// pageOf returns how many items are wanted, standard if nothing is said, and where they begin: a place of so many parts,
// nil for the first.
func pageOf(given, standard int, cursor string, parts int) (limit int, place []string, err error) {
	if limit, err = limitOf(given, standard); err != nil {
		return 0, nil, err
	}
	place, err = placeOf(cursor, parts)
	return limit, place, err
}

// cursorOf returns where the next part of an answer begins, opaque to agents.
func cursorOf(place ...string) string {
	j, _ := json.Marshal(place) // strings always are JSON
	return base64.RawURLEncoding.EncodeToString(j)
}

// placeOf reads a cursor of so many parts; nil if there is none.
func placeOf(cursor string, parts int) (place []string, err error) {
	if cursor == "" {
		return nil, nil
	}
	j, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(j, &place)
	}
	if err != nil || len(place) != parts {
		return nil, engram.Errorf(engram.Invalid, cursor, "this is no cursor of this tool; take next of its last answer, or leave cursor out to begin anew")
	}
	return place, nil
}

// snapshot is a snapshot as agents get it.
type snapshot struct {
	ID        string     `json:"id" jsonschema:"ID of the snapshot; without its time that of the entity"`
	URI       string     `json:"uri" jsonschema:"resource that has the whole snapshot"`
	Time      string     `json:"time" jsonschema:"when it was true"`
	Arrived   string     `json:"arrived,omitempty" jsonschema:"when the memory got to know it"`
	Instances []instance `json:"instances" jsonschema:"the data; usually one, several are alternatives such as detections"`
}

type instance struct {
	Type       string     `json:"type" jsonschema:"type of data; describe_type tells its members and units"`
	Confidence float32    `json:"confidence" jsonschema:"how sure it is, from 0 to 1"`
	Data       any        `json:"data,omitempty" jsonschema:"members by name"`
	Image      *imageInfo `json:"image,omitempty" jsonschema:"of an image, which stands beside this answer as an image"`
	Cut        string     `json:"cut,omitempty" jsonschema:"what was left out of data"`
}

// page collects snapshots up to the bounds of an answer.
type page struct {
	s         *Server
	room      int // bytes that are left
	each      int // bytes for one snapshot
	images    int // that may still be shown
	snapshots []snapshot
	extra     extra
}

// newPage returns a page for so many snapshots.
func (s *Server) newPage(items int) *page {
	p := &page{s: s, room: answerBytes, each: snapshotBytes, images: mostImages}
	if items == 1 {
		p.each = answerBytes * 3 / 4
	}
	return p
}

// add adds a snapshot, and reports false if there is no more room.
func (p *page) add(ctx context.Context, it engram.Item, index int, fields []string) (bool, error) {
	out := snapshot{ID: it.ID.String(), URI: uriOf(it.ID), Time: timeText(it.Time)}
	if it.Arrived != it.Time {
		out.Arrived = timeText(it.Arrived)
	}
	var shown extra
	images := p.images
	for i, inst := range it.Instances {
		if index >= 0 && i != index {
			continue
		}
		o := instance{Type: inst.Payload.Type, Confidence: inst.Confidence}
		if isImage(inst.Payload.Type) && len(fields) == 0 {
			var img *sdk.ImageContent
			o.Image, img = p.image(inst.Payload)
			if img != nil {
				shown = append(shown, img)
			}
			if img == nil || o.Image.Reduced {
				shown = append(shown, &sdk.ResourceLink{URI: uriOf(it.ID.Instance(i)), Name: it.ID.Instance(i).String(), Title: "the image as it is stored"})
			}
		} else {
			var err error
			if o.Data, o.Cut, err = p.s.data(ctx, inst.Payload, p.each); err != nil {
				return false, err
			}
			if o.Cut != "" {
				shown = append(shown, &sdk.ResourceLink{URI: out.URI, Name: out.ID, Title: "the whole snapshot", MIMEType: "application/json"})
			}
		}
		out.Instances = append(out.Instances, o)
	}
	j, err := json.Marshal(out)
	if err != nil {
		return false, err
	}
	if p.room -= len(j); p.room < 0 && len(p.snapshots) > 0 {
		p.images = images
		return false, nil
	}
	p.snapshots = append(p.snapshots, out)
	p.extra = append(p.extra, shown...)
	return true, nil
}

// data returns a payload's members within so many bytes of JSON, and what was left out.
func (s *Server) data(ctx context.Context, p engram.Payload, room int) (value any, cut string, err error) {
	t, err := s.typ(ctx, p.Type)
	if err != nil {
		return nil, "", err
	}
	j, err := t.JSON(p.Bytes, idf.JSONOptions{SummarizeBytes: 64})
	if err != nil {
		return nil, "", err
	}
	return fitted(j, room)
}

// fitted returns a JSON text as a value of at most so many bytes, and what was left out.
func fitted(j []byte, room int) (value any, cut string, err error) {
	d := json.NewDecoder(bytes.NewReader(j))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, "", err
	}
	if len(j) <= room {
		return value, "", nil
	}
	for items, text := 64, 2000; items >= 1; items, text = items/4, text/4 {
		short := shortened(value, items, max(text, 40), 12)
		if b, err := json.Marshal(short); err == nil && len(b) <= room {
			return short, fmt.Sprintf("long lists and texts are shortened, %d bytes in all; choose with fields, or read uri", len(j)), nil
		}
	}
	return shortened(value, 0, 40, 1), fmt.Sprintf("only the members' names are shown, of %d bytes; choose with fields, or read uri", len(j)), nil
}

// shortened returns a value with so many items of each list, so many bytes of each text, and so
// many levels. What is left out is counted in its place.
func shortened(v any, items, text, depth int) any {
	switch v := v.(type) {
	case string:
		if len(v) <= text {
			return v
		}
		end := text
		for end > 0 && !utf8.RuneStart(v[end]) {
			end--
		}
		return fmt.Sprintf("%s… (%d bytes)", v[:end], len(v))
	case []any:
		if depth == 0 || items == 0 {
			return fmt.Sprintf("… %d items", len(v))
		}
		var out []any
		for _, e := range v[:min(items, len(v))] {
			out = append(out, shortened(e, items, text, depth-1))
		}
		if len(v) > items {
			out = append(out, fmt.Sprintf("… %d more", len(v)-items))
		}
		return out
	case map[string]any:
		if depth == 0 {
			return fmt.Sprintf("… %d members", len(v))
		}
		out := map[string]any{}
		most := max(4*items, 40)
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i == most {
				out["…"] = fmt.Sprintf("%d more members", len(v)-most)
				break
			}
			out[name] = shortened(v[name], items, text, depth-1)
		}
		return out
	}
	return v
}

// lacking says what an answer lacks, for agents.
func lacking(missing []engram.Missing) (notes []string) {
	for _, m := range missing {
		text := fmt.Sprintf("of %s something is missing: %s", m.ID, m.Reason)
		if m.Count > 0 {
			text = fmt.Sprintf("of %s %d snapshots are missing: %s", m.ID, m.Count, m.Reason)
		}
		if m.Detail != "" {
			text += ", such as " + m.Example.String() + ": " + m.Detail
		}
		if notes = append(notes, strings.Join(strings.Fields(text), " ")); len(notes) == 10 {
			return append(notes, fmt.Sprintf("and %d more notes of this kind", len(missing)-10))
		}
	}
	return notes
}
