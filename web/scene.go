package web

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/seed-301d4374/engram"
	foxglovepb "github.com/seed-301d4374/engram/gen/foxglove"
)

// scene answers with what is where, at a time or now:
//
//	/view/scene?t=TIME&asof=TIME&fixed=FRAME&since=TAG
//
// What is drawn is in parts; a part is sent whole or, where it is as it was in the scene of the tag, not at all. So nothing
// is kept for a browser between two requests. It is JSON: browsers read it fastest without code of ours. What there is to
// draw is in the JSON form of foxglove.SceneEntity, whether it comes of the world or a memory brings its own picture.
func (p *Page) scene(w http.ResponseWriter, r *http.Request, q query) error {
	ctx := r.Context()
	when, err := q.moment(p.o.Now)
	if err != nil {
		return err
	}
	things, err := p.things(ctx, when)
	if err != nil {
		return err
	}
	f, err := p.frames(ctx, when, q.Get("fixed"), things)
	if err != nil {
		return err
	}
	return answer(w, compare(when.at, f, things, q.Get("since")))
}

// missing answers which frames of what is to be drawn cannot be placed, and why: what scene says of them.
//
//	/view/missing?t=TIME&asof=TIME&fixed=FRAME
func (p *Page) missing(w http.ResponseWriter, r *http.Request, q query) error {
	when, err := q.moment(p.o.Now)
	if err != nil {
		return err
	}
	things, err := p.things(r.Context(), when)
	if err != nil {
		return err
	}
	f, err := p.frames(r.Context(), when, q.Get("fixed"), things)
	if err != nil {
		return err
	}
	if f.Missing == nil {
		f.Missing = []missingFrame{}
	}
	return answer(w, f.Missing)
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
	Key   string    `json:"key"`          // names it among all
	Kind  string    `json:"kind"`         // which of the members below it has
	ID    string    `json:"id,omitempty"` // what to select: an entity or a snapshot
	Frame string    `json:"frame,omitempty"`
	Pose  *poseJSON `json:"pose,omitempty"`

	Name     string            `json:"name,omitempty"`     // robot
	Cov      []float64         `json:"cov,omitempty"`      // scene: of its position, in its axes: xx xy xz yy yz zz, m²
	Entities []json.RawMessage `json:"entities,omitempty"` // scene: each a foxglove.SceneEntity
	Poses    []poseJSON        `json:"poses,omitempty"`    // poses
	Start    float64           `json:"start,omitempty"`    // scan: the angle of the first ray, rad
	End      float64           `json:"end,omitempty"`      // scan: that of the last one
	Ranges   []float32         `json:"ranges,omitempty"`   // scan: metres; 0 is none
	Columns  int               `json:"columns,omitempty"`  // grid
	Rows     int               `json:"rows,omitempty"`     // grid
	Cell     [2]float64        `json:"cell,omitzero"`      // grid: of a cell, metres

	drawn []*foxglovepb.SceneEntity // what Entities will be
}

type poseJSON [7]float64

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

// compare returns the part of a scene that differs from that of a tag, which has a sum of the frames and of each part.
func compare(at engram.Time, f *framesJSON, things []thing, since string) *sceneJSON {
	s := &sceneJSON{At: int64(at), Parts: map[int][]thing{}}
	if len(things) > maxThings {
		s.LeftOut = len(things) - maxThings
		things = things[:maxThings]
	}
	var sums [parts + 1]uint32
	of := make([]int, len(things))
	for i := range things {
		of[i] = int(sum([]byte(things[i].Key)) % parts)
		sums[of[i]] += things[i].sum()
	}
	b, _ := json.Marshal(f) // it has no values that JSON has not
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
				if b, err := protojson.Marshal(e); err == nil { // it was read from a message
					t.Entities = append(t.Entities, b)
				}
			}
			s.Parts[of[i]] = append(into, t)
		}
	}
	return s
}

// maxThings bounds what is drawn at once.
const maxThings = 50_000

// sum returns a sum of all that a thing is.
func (t *thing) sum() uint32 {
	b, _ := json.Marshal(t) // it has no values that JSON has not
	for _, e := range t.drawn {
		b, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, e) // what was read can be written
	}
	return sum(b)
}

func sum(b []byte) uint32 {
	h := fnv.New32a()
	h.Write(b)
	return h.Sum32() | 1 // 0 is nothing
}

// things returns all there is to draw but frames: what memories have of the types that are drawn, and the world.
func (p *Page) things(ctx context.Context, when moment) ([]thing, error) {
	var all []thing
	seen := map[string]bool{} // what extends several types is drawn as the first of them
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
				t := thing{Key: it.ID.Truncate(engram.LevelEntity).String(), ID: it.ID.Truncate(engram.LevelEntity).At(it.Time).String()}
				if len(it.Instances) > 1 {
					t.Key += "/" + strconv.Itoa(n)
				}
				if !seen[t.Key] && d.draw(ctx, p, when, it, it.Instances[n].Payload, &t) {
					seen[t.Key] = true
					all = append(all, t)
				}
			}
		}
	}
	items, err := p.items(ctx, when)
	return append(all, items...), err
}
