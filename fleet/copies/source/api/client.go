package api

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	"github.com/seed-301d4374/engram/fleet/copies/stream"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

// pullWindow is how many bytes of a pull may be under way. More would let what is
// urgent wait behind what is not, on a slow link.
const pullWindow = 256 << 10

// pullPatience is how long a pull may be silent. Its source speaks every
// contract.Heartbeat; after this its connection counts as broken, long before TCP
// gives it up.
var pullPatience = 3 * contract.Heartbeat

// messageOverhead is about what a message costs on the link beside its data: the
// framing of HTTP/2 and of RPC.
const messageOverhead = 20

// maxBatch bounds the bytes of one part of a pull.
const maxBatch = 128 << 20

// NewClient returns what a server offers to holders of copies. When the connection
// breaks, or is silent for too long, Pull returns Unavailable; the holder begins anew
// where it is.
func NewClient(c feature.Conn) contract.Source { return remote{c} }

type remote struct{ conn feature.Conn }

func (c remote) Pull(ctx context.Context, r contract.Request, f func(*contract.Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &pullReader{}
	p.silence = time.AfterFunc(pullPatience, func() {
		p.silent.Store(true)
		cancel()
	})
	defer p.silence.Stop()
	begin := pullMessage(&r)
	begin.Format = stream.Format
	var err error
	if p.pull, err = c.conn.Open(ctx, "/"+name+"/Pull", &engramv1.PullRequest{Begin: begin, Credit: pullWindow}); err != nil {
		return p.failed(err)
	}
	defer p.pull.Close()
	format, err := p.receive()
	if err != nil {
		return err
	}
	dec, err := stream.NewDecoder(p, len(r.Shares), maxBatch, format)
	if err != nil {
		return err
	}
	defer dec.Close()
	for {
		b, err := dec.Decode()
		if err != nil {
			return err
		}
		b.Wire, p.wire = p.wire, 0
		if err := f(b); err != nil {
			return err
		}
	}
}

// pullReader reads the data of a pull's messages, and grants credit for what was read.
type pullReader struct {
	pull    feature.ClientStream
	silence *time.Timer
	silent  atomic.Bool
	rest    []byte
	read    uint64 // for which no credit was granted yet
	wire    int64  // since the last batch
}

// Read implements io.Reader.
func (p *pullReader) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if _, err := p.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	if p.read += uint64(n); p.read >= pullWindow/4 {
		credit := p.read
		p.read = 0
		if err := p.pull.Send(&engramv1.PullRequest{Credit: credit}); err != nil && !errors.Is(err, io.EOF) {
			return 0, p.failed(err)
		}
		p.wire += messageOverhead
	}
	return n, nil
}

// receive receives a message. format says how the data is written, if it is the first.
func (p *pullReader) receive() (format uint32, err error) {
	p.silence.Reset(pullPatience)
	var m engramv1.PullResponse
	err = p.pull.Receive(&m)
	p.silence.Stop()
	if errors.Is(err, io.EOF) {
		return 0, engram.Errorf(engram.Unavailable, "", "the server ended the pull")
	}
	if err != nil {
		return 0, p.failed(err)
	}
	p.rest = m.GetData()
	p.wire += int64(len(p.rest)) + messageOverhead
	return max(m.GetFormat(), 1), nil
}

func (p *pullReader) failed(err error) error {
	if p.silent.Load() {
		return engram.Errorf(engram.Unavailable, "", "nothing was heard of the server for %v", pullPatience)
	}
	return err
}
