package local

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// bytesConn is a connection from which given bytes come, in pieces.
type bytesConn struct {
	net.Conn
	r     *bytes.Reader
	piece int
}

func (c *bytesConn) Read(b []byte) (int, error)      { return c.r.Read(b[:min(len(b), c.piece)]) }
func (c *bytesConn) SetReadDeadline(time.Time) error { return nil }

func readerOf(b []byte, piece int, l limits) *reader {
	return newReader(&bytesConn{r: bytes.NewReader(b), piece: piece}, l, 0)
}

var ownLimits = limits{frame: maxFrame, ids: maxIDs, types: maxTypes}

func drawID(t *rapid.T, level engram.Level) engram.ID {
	var id engram.ID
	for range idNames(level) {
		id, _ = id.Child(rapid.StringMatching(`[a-c/\\ü]{1,3}`).Draw(t, "name"))
	}
	if level >= engram.LevelSnapshot {
		id = id.At(engram.Time(rapid.Int64().Draw(t, "time")))
	}
	if level == engram.LevelInstance {
		id = id.Instance(rapid.IntRange(0, engram.MaxIndex).Draw(t, "index"))
	}
	return id
}

func genInstances(least int) *rapid.Generator[[]engram.Instance] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engram.Instance {
		n := rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 200), rapid.SampledFrom([]int{copyBelow, copyBelow + 1, 5000})).Draw(t, "size")
		in := engram.Instance{
			Payload:    engram.Payload{Type: rapid.StringMatching(`[a-z]{0,2}`).Draw(t, "type")},
			Sent:       engram.Time(rapid.Int64().Draw(t, "sent")),
			HasSent:    rapid.Bool().Draw(t, "has sent"),
			Confidence: rapid.Float32().Draw(t, "confidence"),
		}
		if n > 0 {
			in.Payload.Bytes = payload(n, rapid.Byte().Draw(t, "seed"))
		}
		return in
	}), least, 4)
}

// What one side encodes the other decodes, whatever the frames before were, with
// tables that are too small for the names, and in whatever pieces it comes.
func TestCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := limits{frame: maxFrame, ids: rapid.Uint32Range(1, 4).Draw(t, "ids"), types: rapid.Uint32Range(1, 3).Draw(t, "types")}
		e := &encoder{}
		e.ids.limit, e.types.limit = small.ids, small.types
		out := &batch{}
		var want []any
		for range rapid.IntRange(1, 5).Draw(t, "frames") {
			e.begin(out)
			if rapid.Bool().Draw(t, "commit") {
				updates := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engram.EntityUpdate {
					return engram.EntityUpdate{
						Entity:    drawID(t, engram.Level(rapid.IntRange(0, 6).Draw(t, "level"))),
						Time:      engram.Time(rapid.Int64().Draw(t, "time")),
						Instances: genInstances(0).Draw(t, "instances"),
					}
				}), 0, 6).Draw(t, "updates")
				e.updates(updates)
				e.end(kindCommit, 0, 1)
				want = append(want, updates)
				continue
			}
			u := engram.Update{
				ID:      drawID(t, engram.LevelSnapshot),
				Number:  rapid.Uint64Range(0, 1<<63-1).Draw(t, "number"),
				Arrived: engram.Time(rapid.Int64().Draw(t, "arrived")), Supersedes: rapid.Bool().Draw(t, "supersedes"),
				Dropped: rapid.Uint64Range(0, 2).Draw(t, "dropped"), Restarted: rapid.Bool().Draw(t, "restarted"),
			}
			if rapid.Bool().Draw(t, "with data") {
				at, _ := u.ID.Time()
				u.Snapshot = &engram.Snapshot{Time: at, Arrived: u.Arrived, Number: u.Number, Recalled: rapid.Bool().Draw(t, "recalled"), Instances: genInstances(1).Draw(t, "instances")}
			}
			e.update(&u)
			e.end(kindUpdates, 0, 1)
			want = append(want, u)
		}
		var wire []byte
		for _, v := range out.vectors(nil) {
			wire = append(wire, v...)
		}
		if len(wire) != out.size {
			t.Fatalf("%d bytes, and counted were %d", len(wire), out.size)
		}
		rd := readerOf(wire, rapid.SampledFrom([]int{5, 100, 1000, 1 << 20}).Draw(t, "piece"), small)
		var scratch commit
		for i, w := range want {
			h, err := rd.next()
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if h.kind == kindCommit {
				got = scratch.decode(&rd.decoder).Updates
			} else {
				got = rd.update()
			}
			if err := rd.finish(); err != nil {
				t.Fatal(err)
			}
			if !same(got, w) {
				t.Fatalf("frame %d: got %+v, want %+v", i, got, w)
			}
		}
	})
}

// same compares, and takes nil and empty slices for the same.
func same(a, b any) bool { return fmt.Sprintf("%+v", deref(a)) == fmt.Sprintf("%+v", deref(b)) }

func deref(v any) any {
	if u, ok := v.(engram.Update); ok && u.Snapshot != nil {
		s := *u.Snapshot
		u.Snapshot = nil
		return []any{u, s}
	}
	return v
}

func TestResultsAndErrors(t *testing.T) {
	asked := engram.MustID("A/B/C/d")
	u := engram.EntityUpdate{Entity: asked, Time: 7}
	long := string(make([]byte, 100_000))
	results := []engram.UpdateResult{
		{ID: asked.At(7), Number: 9},
		{ID: asked.At(8), Number: 10},
		{ID: engram.MustID("X/Y/Z/moved").At(7), Number: 11},
		{ID: asked, Err: engram.Errorf(engram.TooOld, "thing", "message")},
		{ID: engram.ID{}, Err: fmt.Errorf("plain")},
		{ID: asked, Err: engram.Errorf(engram.Conflict, long, "%s", long)},
		{ID: asked.At(7), Number: 12, Note: engram.Errorf(engram.Conflict, "thing", "left out")},
	}
	b := encoded(kindResults, 0, 1, func(e *encoder) {
		for i := range results {
			e.result(&u, &results[i])
		}
	})
	rd := readerOf(b, len(b), ownLimits)
	if _, err := rd.next(); err != nil {
		t.Fatal(err)
	}
	for i, want := range results {
		got := rd.result(asked.At(7))
		if got.ID != want.ID || got.Number != want.Number || engram.CodeOf(got.Err) != engram.CodeOf(want.Err) {
			t.Errorf("result %d: %+v, want %+v", i, got, want)
		}
		if want.Note != nil && (got.Note == nil || got.Note.Error() != want.Note.Error()) || want.Note == nil && got.Note != nil {
			t.Errorf("result %d: note %v, want %v", i, got.Note, want.Note)
		}
		if want.Err != nil && i < 5 && got.Err.Error() != want.Err.Error() {
			t.Errorf("result %d: error %q, want %q", i, got.Err, want.Err)
		}
	}
	if err := rd.finish(); err != nil {
		t.Error(err)
	}
}

// Decoded values do not refer to the reader's buffer, and a small payload that is
// kept does not keep a large one.
func TestPayloadMemory(t *testing.T) {
	var sizes []int
	for n := range 300 {
		sizes = append(sizes, n)
	}
	var updates []engram.EntityUpdate
	for _, n := range sizes {
		updates = append(updates, update("A/B/C/d", 1, payload(n, byte(n))))
	}
	b := commitFrame(0, 1, updates...)
	rd := readerOf(b, len(b), ownLimits)
	if _, err := rd.next(); err != nil {
		t.Fatal(err)
	}
	c := new(commit).decode(&rd.decoder)
	if err := rd.finish(); err != nil {
		t.Fatal(err)
	}
	poison(rd.buf)
	for i, u := range c.Updates {
		p := u.Instances[0].Payload.Bytes
		if !bytes.Equal(p, payload(sizes[i], byte(sizes[i]))) || u.Instances[0].Payload.Type != "test.T" || u.Entity != engram.MustID("A/B/C/d") {
			t.Fatalf("update %d refers to the buffer", i)
		}
		if cap(p) != len(p) && cap(p) > len(p)+len(p)/4+16 {
			t.Errorf("%d bytes hold %d", len(p), cap(p))
		}
	}
}

// The example in docs/formats/local.md is what is written.
func TestFormatExample(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/formats/local.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "## A commit, byte by byte")
	_, text, _ = strings.Cut(text, "```\n")
	text, _, _ = strings.Cut(text, "```")
	var want []byte
	for _, m := range regexp.MustCompile(`\b[0-9A-F]{2}\b`).FindAllString(text, -1) {
		b, _ := hex.DecodeString(m)
		want = append(want, b...)
	}
	got := commitFrame(0, 1, engram.EntityUpdate{Entity: engram.MustID("M/C/P/e"), Time: 1, Instances: []engram.Instance{
		engram.NewInstance(engram.Payload{Type: "T", Bytes: []byte{0xAA, 0xBB}}),
	}})
	if !bytes.Equal(got, want) {
		t.Errorf("written is\n% X, documented\n% X", got, want)
	}
}

// A query of one entity is the same on the other side.
func TestSelectFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Custom(func(t *rapid.T) engram.Time { return engram.Time(rapid.Int64().Draw(t, "time")) })
		entity := drawID(t, engram.LevelEntity)
		selectors := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) engram.SnapshotSelector {
			a, b := at.Draw(t, "a"), at.Draw(t, "b")
			return rapid.SampledFrom([]engram.SnapshotSelector{
				engram.All(), engram.Latest(int(a)), engram.At(a), engram.AtOrBefore(a), engram.Nearest(a, time.Duration(b)),
				engram.In(engram.Interval{Start: a, End: b}), engram.Indices(int(a), int(b)),
			}).Draw(t, "selector")
		}), 1, 5).Draw(t, "selectors")
		want := engram.SelectID(entity, selectors...)
		want.Target, want.WithoutPayload = rapid.SampledFrom([]engram.Target{engram.TargetBoth, engram.TargetWM, engram.TargetLTM}).Draw(t, "target"), rapid.Bool().Draw(t, "without payload")
		id, sel, ok := ofEntity(&want)
		if !ok || id != entity || !reflect.DeepEqual(sel, selectors) {
			t.Fatalf("it is taken for %v of %v, %v", sel, id, ok)
		}
		rd := readerOf(encoded(kindSelect, 0, 1, func(e *encoder) { e.query(&want, id, sel) }), 1<<20, ownLimits)
		if _, err := rd.next(); err != nil {
			t.Fatal(err)
		}
		got := rd.query()
		if err := rd.finish(); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v becomes %+v, %v", want, got, err)
		}
	})
}

// What a select frame cannot say is said by the query's message.
func TestNotOfEntity(t *testing.T) {
	entity := engram.MustID("A/B/C/d")
	now := engram.Time(1)
	for name, change := range map[string]func(*engram.Query){
		"as of":        func(q *engram.Query) { q.AsOf = &now },
		"where":        func(q *engram.Query) { q.Where = "true" },
		"fields":       func(q *engram.Query) { q.Fields = []string{"a"} },
		"segment":      func(q *engram.Query) { *q = engram.SelectID(entity.Parent(), engram.Latest(1)) },
		"two memories": func(q *engram.Query) { q.Memories = append(q.Memories, q.Memories...) },
		"two names":    func(q *engram.Query) { q.Memories[0].Names = engram.OneOf("A", "B") },
		"regex":        func(q *engram.Query) { q.Memories[0].Names = engram.MatchRegex("A") },
		"bad name":     func(q *engram.Query) { q.Memories[0].Names = engram.OneOf("") },
		"names alone":  func(q *engram.Query) { *q = engram.SelectID(entity) },
		"too deep": func(q *engram.Query) {
			q.Memories = []engram.QueryNode{{Names: engram.OneOf("A"), Children: q.Memories}}
		},
		"snapshots of a memory": func(q *engram.Query) {
			q.Memories[0].Snapshots = []engram.SnapshotSelector{engram.All()}
		},
	} {
		q := engram.SelectID(entity, engram.Latest(1))
		change(&q)
		if id, sel, ok := ofEntity(&q); ok {
			t.Errorf("%s: taken for %v of %v", name, sel, id)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add(clientHello().append(nil, false))
	f.Add(hello{version: version, limits: ownLimits, epoch: 7, calls: 9}.append(nil, true))
	f.Add(hello{}.append(nil, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != helloSize && len(b) != answerSize {
			return
		}
		h, err := parseHello(b)
		if err != nil {
			return
		}
		if again, err := parseHello(h.append(nil, len(b) == answerSize)); err != nil || again != h {
			t.Errorf("%+v becomes %+v, %v", h, again, err)
		}
	})
}

// FuzzFrames reads frames as a client and as a server do. Whatever comes, decoding
// ends, makes no more than the frame announced, and what was understood encodes to
// what is understood the same.
func FuzzFrames(f *testing.F) {
	entity := engram.MustID("A/B/C/d")
	f.Add(commitFrame(0, 1, update("A/B/C/d", 1, payload(33, 0)), update("A/B/C/d", 2, payload(3000, 0), nil)))
	f.Add(append(commitFrame(flagStream|flagMore, 1, update("A", 1)), frame(kindCancel, 0, 1)...))
	f.Add(frame(kindCredit, 0, 1, 1, 2, 3, 4))
	snapshot := &engram.Snapshot{Time: 1, Arrived: 2, Number: 3, Instances: update("A/B/C/d", 1, payload(200, 1), payload(5, 1)).Instances}
	f.Add(encoded(kindUpdates, flagMore, 1, func(e *encoder) {
		e.u32(2)
		e.update(&engram.Update{ID: entity.At(1), Number: 3, Arrived: 2, Dropped: 4, Snapshot: snapshot})
		e.update(&engram.Update{ID: entity.At(1), Number: 4, Supersedes: true})
	}))
	f.Add(encoded(kindSnapshot, 0, 1, func(e *encoder) { e.snapshot(snapshot) }))
	f.Add(encoded(kindResults, 0, 1, func(e *encoder) {
		e.u32(2)
		e.result(&engram.EntityUpdate{Entity: entity}, &engram.UpdateResult{ID: entity.At(0), Number: 1})
		e.result(&engram.EntityUpdate{}, &engram.UpdateResult{ID: entity, Err: engram.Errorf(engram.Invalid, "x", "y")})
	}))
	f.Add(encoded(kindAnswer, 0, 1, func(e *encoder) {
		for l, name := range []string{"A", "B", "C", "d"} {
			e.u8(uint8(l + 1))
			e.text(name)
		}
		e.u8(answerSnapshot)
		e.snapshot(snapshot)
		e.u8(answerMissing)
		e.id(entity)
		e.text(engram.MissingEvicted)
		e.u64(1)
		e.u64(2)
		e.u64(3)
	}))
	f.Add(encoded(kindSelect, 0, 1, func(e *encoder) {
		e.u32(1000)
		e.query(&engram.Query{WithoutPayload: true}, entity, []engram.SnapshotSelector{engram.Latest(3), engram.Indices(0, -1)})
	}))
	f.Add(encoded(kindError, 0, 0, func(e *encoder) { e.err(engram.Errorf(engram.Corrupt, "x", "y")) }))
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 20
		rd := readerOf(b, 1<<20, limits{frame: limit, ids: 4, types: 4})
		var scratch commit
		for {
			h, err := rd.next()
			if err != nil {
				return
			}
			room := rd.rest
			var updates []engram.EntityUpdate
			switch h.kind {
			case kindCommit:
				updates = scratch.decode(&rd.decoder).Updates
			case kindSnapshot:
				rd.snapshot()
			case kindUpdates:
				for range rd.count(updateSize) {
					rd.update()
				}
			case kindResults:
				s := &sentCommit{results: make([]engram.UpdateResult, 3)}
				s.decode(&rd.decoder)
			case kindAnswer:
				new(answer).decode(&rd.decoder)
			case kindError:
				if err := rd.err(); engram.CodeOf(err) == 0 {
					t.Error("an error without a code")
				}
			case kindCredit:
				rd.u32()
			case kindSelect:
				rd.u32()
				rd.query()
			case kindLatest:
				_, _, _ = rd.u8(), rd.idRef(), rd.u64()
			default:
				rd.text()
				rd.remainder()
			}
			given := 0
			for _, p := range rd.payloads {
				given += len(p)
			}
			if given > room {
				t.Fatalf("payloads of %d bytes in a frame with %d", given, room)
			}
			if rd.finish() != nil {
				return
			}
			if updates != nil {
				again := commitFrame(0, 1, updates...)
				rd2 := readerOf(again, 1<<20, ownLimits)
				if _, err := rd2.next(); err != nil {
					t.Fatal(err)
				}
				got := new(commit).decode(&rd2.decoder).Updates
				if err := rd2.finish(); err != nil || !(reflect.DeepEqual(got, updates) || same(got, updates)) {
					t.Fatalf("%+v becomes %+v, %v", updates, got, err)
				}
			}
		}
	})
}

// FuzzServer is a client that sends anything after its hello: the server answers
// or closes the connection, and goes on serving others.
func FuzzServer(f *testing.F) {
	address := serve(f, newFake(), Options{Log: testkit.Quiet, MaxFrame: 1 << 20})
	witness := client(f, address, DialOptions{})
	f.Add(commitFrame(0, 1, update("A/B/C/d", 1, payload(33, 0))))
	f.Add(append(commitFrame(flagStream, 1, update("A/B/C/d", 1)), commitFrame(0, 1, update("A/B/C/d", 1))...))
	f.Add(encoded(kindLatest, 0, 1, func(e *encoder) { e.u8(0); e.idRef(engram.MustID("A/B/C/d")); e.u64(0) }))
	f.Add(encoded(kindSelect, flagParts, 1, func(e *encoder) {
		e.u32(1000)
		e.query(&engram.Query{}, engram.MustID("A/B/C/d"), []engram.SnapshotSelector{engram.All()})
	}))
	f.Add(encoded(kindCall, 0, 1, func(e *encoder) { e.text("/engram.v1.MemoryService/Info") }))
	f.Add(encoded(kindSubscribe, 0, 1, func(e *encoder) { e.u32(1000) }))
	f.Add(append(encoded(kindSubscribe, 0, 1, func(e *encoder) { e.u32(0); e.bytes([]byte{1}) }), frame(kindCancel, 0, 1)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		peer := rawDial(t, address).greet()
		peer.Write(b) // the server may close the connection before it has all
		peer.CloseWrite()
		peer.refusal()
		if _, err := witness.Commit(t.Context(), engram.Commit{}); err != nil {
			t.Fatal(err)
		}
	})
}

// A peer that goes away in the middle of a frame is gone; what it sent is not damaged.
func TestFrameThatIsCut(t *testing.T) {
	whole := encoded(kindSnapshot, 0, 1, func(e *encoder) {
		e.snapshot(&engram.Snapshot{Time: 1, Instances: []engram.Instance{{Payload: engram.Payload{Type: "t", Bytes: payload(5000, 0)}}}})
	})
	for n := range len(whole) {
		rd := readerOf(whole[:n], 1000, ownLimits)
		_, err := rd.next()
		if err == nil {
			_ = rd.snapshot()
			err = rd.finish()
		}
		if err = (&link{address: "local:x"}).lost(err); engram.CodeOf(err) != engram.Unavailable {
			t.Fatalf("%d of %d bytes: %v (%v)", n, len(whole), err, engram.CodeOf(err))
		}
	}
}
