package web

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
)

// scene answers what is where, at a time or now:
//
//	t      the time; otherwise now
//	asof   what was known then
//	fixed  the frame to show it in; otherwise the root of the largest tree of frames
//	since  the tag of the scene that the browser has
//
// The things to draw are in parts. A part is sent whole, or not at all if it is as in the
// scene of the tag, so that nothing is kept for a browser between two requests. Items of the
// world, and pictures that memories bring, are in the JSON form of foxglove.SceneEntity.
func (p *scenes) scene(w http.ResponseWriter, r *http.Request, q query) error {
	when, err := q.moment(p.o.Now)
	if err != nil {
		return err
	}
	things, f, err := p.placed(r.Context(), when, q.Get("fixed"))
	if err != nil {
		return err
	}
	return answer(w, compare(when.at, f, things, q.Get("since")))
}

// missing answers which frames of things to draw cannot be placed, and why, as scene does:
//
//	t, asof, fixed  as of scene
func (p *scenes) missing(w http.ResponseWriter, r *http.Request, q query) error {
	when, err := q.moment(p.o.Now)
	if err != nil {
		return err
	}
	_, f, err := p.placed(r.Context(), when, q.Get("fixed"))
	if err != nil {
		return err
	}
	if f.Missing == nil {
		f.Missing = []missingFrame{}
	}
	return answer(w, f.Missing)
}

// placed returns the things to draw and the frames that they are in.
func (p *scenes) placed(ctx context.Context, when moment, fixed string) ([]thing, *framesJSON, error) {
	things, err := p.things(ctx, when)
	if err != nil {
		return nil, nil, err
	}
	f, err := p.frames(ctx, when, fixed, things)
	return things, f, err
}

// moment is when a scene is.
type moment struct {
	at   engram.Time
	now  bool // at is the present: what comes is newer than what is asked for
	asOf *engram.Time
}

// moment reads t and asof.
func (q query) moment(now func() engram.Time) (when moment, err error) {
	if when.now = q.Get("t") == ""; when.now {
		when.at = now()
	} else if when.at, err = q.time("t", 0); err != nil {
		return when, err
	}
	when.asOf, err = q.asOf()
	return when, err
}

// selector selects what holds of an entity then.
func (m moment) selector() engram.SnapshotSelector {
	if m.now {
		return engram.Latest(1)
	}
	return engram.AtOrBefore(m.at)
}

// thing is something to draw. Poses are x, y, z in metres and a quaternion x, y, z, w.
type thing struct {
	Key  string `json:"key"`          // names it among all
	Kind string `json:"kind"`         // which of the members below it has
	ID   string `json:"id,omitempty"` // what to select, and to fetch apart: an entity, a snapshot, or one of its instances
	// Version tells versions of what is fetched apart, of one ID: it may be corrected, or seen as of another time.
	Version string    `json:"version,omitempty"` // points, grid
	Frame   string    `json:"frame,omitempty"`
	Pose    *poseJSON `json:"pose,omitempty"` // in the frame; of an item where its own origin is

	Name     string            `json:"name,omitempty"`     // robot
	Cov      []float64         `json:"cov,omitempty"`      // item: of its position, in its axes: xx xy xz yy yz zz, m²
	Entities []json.RawMessage `json:"entities,omitempty"` // scene: each a foxglove.SceneEntity
	Poses    []poseJSON        `json:"poses,omitempty"`    // poses
	Start    float64           `json:"start,omitempty"`    // scan: the angle of the first ray, rad
	End      float64           `json:"end,omitempty"`      // scan: that of the last one
	Ranges   []float32         `json:"ranges,omitempty"`   // scan: metres; 0 is none
	Columns  int               `json:"columns,omitempty"`  // grid
	Rows     int               `json:"rows,omitempty"`     // grid
	Cell     [2]float64        `json:"cell,omitzero"`      // grid: of a cell, metres

	drawn []*foxglovepb.SceneEntity // what Entities will be
	at    engram.Time               // when it was measured; 0 of what the world has
}

type poseJSON [7]float64

// versionOf tells versions of a snapshot apart.
func versionOf(arrived engram.Time) string { return strconv.FormatInt(int64(arrived), 10) }

// parts is into how many parts things are divided.
const parts = 256

// sceneJSON is the answer.
type sceneJSON struct {
	At      int64           `json:"at,string"` // in ns since 1970
	Tag     string          `json:"tag"`
	Frames  *framesJSON     `json:"frames,omitempty"` // nil if they are as they were
	Parts   map[int][]thing `json:"parts"`            // those that are others; an empty one is empty now
	LeftOut int             `json:"leftOut,omitempty"`
}

// compare returns the parts of a scene that differ from those of a tag. The tag has a sum of
// the frames and one of each part.
func compare(at engram.Time, f *framesJSON, things []thing, since string) *sceneJSON {
	s := &sceneJSON{At: int64(at), Parts: map[int][]thing{}}
	whole := len(things)
	things = bounded(things)
	s.LeftOut = whole - len(things)
	var sums [parts + 1]uint32
	of := make([]int, len(things))
	for i := range things {
		of[i] = int(sum([]byte(things[i].Key)) % parts)
		sums[of[i]] += things[i].sum()
	}
	b, _ := json.Marshal(f) // all its numbers are finite
	sums[parts] = sum(b)
	var tag []byte
	for _, n := range sums {
		tag = binary.LittleEndian.AppendUint32(tag, n)
	}
	s.Tag = base64.RawURLEncoding.EncodeToString(tag)
	was, err := base64.RawURLEncoding.DecodeString(since)
	if err != nil || len(was) != len(tag) {
		was = make([]byte, len(tag)) // of a scene without anything
	}
	differs := func(i int) bool { return sums[i] != binary.LittleEndian.Uint32(was[4*i:]) }
	if differs(parts) {
		s.Frames = f
	}
	for i := range parts {
		if differs(i) {
			s.Parts[i] = []thing{}
		}
	}
	for i := range things {
		if into, ok := s.Parts[of[i]]; ok {
			t := things[i]
			for _, e := range t.drawn {
				if b, err := protojson.Marshal(e); err == nil { // text that is no UTF-8 is none of a message
					t.Entities = append(t.Entities, b)
				}
			}
			s.Parts[of[i]] = append(into, t)
		}
	}
	return s
}

const (
	maxThings     = 50_000 // that are drawn at once
	maxSceneBytes = 32 << 20
)

// bounded returns as many of the first things as a browser draws.
func bounded(things []thing) []thing {
	things = things[:min(len(things), maxThings)]
	room := maxSceneBytes
	return slices.DeleteFunc(things, func(t thing) bool {
		n := 100 + 8*len(t.Ranges) + 100*len(t.Poses)
		for _, e := range t.drawn {
			n += proto.Size(e)
		}
		if n > room {
			return true
		}
		room -= n
		return false
	})
}

// sum returns a sum of all that a thing is.
func (t *thing) sum() uint32 {
	b, _ := json.Marshal(t) // all its numbers are finite
	for _, e := range t.drawn {
		b, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, e) // what was read can be written
	}
	return sum(b)
}

func sum(b []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(b)    // a hash takes all
	return h.Sum32() | 1 // 0 is nothing
}

// things returns all there is to draw but frames: what memories have of the types that are
// drawn, and the world.
func (p *scenes) things(ctx context.Context, when moment) ([]thing, error) {
	var all []thing
	seen := map[string]bool{} // what extends several types is of the first of them
	for i := range drawings {
		d := &drawings[i]
		query := engram.Pattern{}.Select(when.selector())
		query.Type, query.Fields, query.AsOf, query.FilterOrder = d.typ, d.fields, when.asOf, engram.SelectThenFilter
		found, err := p.svc.Query(ctx, query)
		if err != nil {
			return nil, err
		}
		for it := range found.All() {
			for n := range it.Instances {
				id := it.ID.Truncate(engram.LevelEntity).At(it.Time)
				t := thing{Key: id.Truncate(engram.LevelEntity).String(), ID: id.String(), at: it.Time}
				if len(it.Instances) > 1 {
					t.Key, t.ID = t.Key+"/"+strconv.Itoa(n), id.Instance(n).String()
				}
				if seen[t.Key] {
					continue
				}
				seen[t.Key] = true
				entity := t.Key
				if d.draw(it, it.Instances[n].Payload, &t, when.at) && (t.Key == entity || !seen[t.Key]) {
					seen[t.Key] = true // a robot with two descriptions is one
					if t.Kind == "points" || t.Kind == "grid" {
						t.Version = versionOf(it.Arrived)
					}
					all = append(all, t)
				}
			}
		}
	}
	items, err := p.items(ctx, when)
	return append(all, items...), err
}
