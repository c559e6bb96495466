package rpc

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
	"github.com/seed-301d4374/engram/copies/stream"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
)

var _ service.Source = (*Client)(nil)

// pullWindow is how many bytes of a pull may be under way. More would let what is
// urgent wait behind what is not, on a slow link.
const pullWindow = 256 << 10

// pullPatience is how long a pull may be silent. Its source speaks every
// service.Heartbeat; after this its connection counts as broken, long before TCP
// gives it up.
var pullPatience = 3 * service.Heartbeat

// messageOverhead is about what a message costs on the link beside its data: the
// framing of HTTP/2 and of RPC.
const messageOverhead = 20

// Pull implements service.Source. When the connection breaks, or is silent for too
// long, it returns Unavailable; the holder begins anew where it is.
func (c *Client) Pull(ctx context.Context, r service.Request, f func(*service.Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	pull := c.copies.Pull(ctx)
	defer func() {
		cancel() // first: closing would wait for what comes
		pull.CloseRequest()
		pull.CloseResponse()
	}()
	defer context.AfterFunc(c.ctx, cancel)()
	// While a request's body is open, HTTP/2 does not see that its context has ended.
	defer context.AfterFunc(ctx, func() { pull.CloseRequest() })()
	p := &pullReader{c: c, ctx: ctx, pull: pull}
	p.silence = time.AfterFunc(pullPatience, func() {
		p.silent.Store(true)
		cancel()
	})
	defer p.silence.Stop()
	begin := pullMessage(&r)
	begin.Format = stream.Format
	if err := pull.Send(&engramv1.PullRequest{Begin: begin, Credit: pullWindow}); err != nil && !errors.Is(err, io.EOF) {
		return p.failed(err)
	}
	format, err := p.receive()
	if err != nil {
		return err
	}
	dec, err := stream.NewDecoder(p, len(r.Shares), int64(c.o.MaxMessage), format)
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
	c       *Client
	ctx     context.Context
	pull    *connect.BidiStreamForClient[engramv1.PullRequest, engramv1.PullResponse]
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
	m, err := p.pull.Receive()
	p.silence.Stop()
	if errors.Is(err, io.EOF) {
		return 0, engram.Errorf(engram.Unavailable, p.c.address, "the server ended the pull")
	}
	if err != nil {
		return 0, p.failed(err)
	}
	p.rest = m.GetData()
	p.wire += int64(len(p.rest)) + messageOverhead
	return max(m.GetFormat(), 1), nil
}

func (p *pullReader) failed(err error) error {
	switch {
	case p.silent.Load():
		return engram.Errorf(engram.Unavailable, p.c.address, "nothing was heard of the server for %v", pullPatience)
	case p.c.ctx.Err() != nil:
		return errClosed(p.c.address)
	}
	return p.c.domainError(p.ctx, err)
}

// Copies administers the copies that the server holds. Its calls return Unsupported if
// it holds none.
func (c *Client) Copies() service.Admin { return copyClient{c} }

// copyClient implements service.Admin over the client's connection.
type copyClient struct{ c *Client }

func (a copyClient) AddCopy(ctx context.Context, c service.Copy) error {
	_, err := call(ctx, a.c, a.c.copies.AddCopy, &engramv1.AddCopyRequest{Copy: copyMessage(&c)}, repeatable)
	return err
}

func (a copyClient) RemoveCopy(ctx context.Context, pattern string, drop bool) error {
	_, err := call(ctx, a.c, a.c.copies.RemoveCopy, &engramv1.RemoveCopyRequest{Pattern: pattern, Drop: drop}, once)
	return err
}

func (a copyClient) CopyStatus(ctx context.Context) ([]service.Status, error) {
	m, err := call(ctx, a.c, a.c.copies.ListCopies, &engramv1.ListCopiesRequest{}, repeatable)
	if err != nil {
		return nil, err
	}
	out := make([]service.Status, len(m.GetCopies()))
	for i, s := range m.GetCopies() {
		if out[i], err = copyStatusFromMessage(s); err != nil {
			return nil, badAnswer(err)
		}
	}
	return out, nil
}

func (a copyClient) Fetch(ctx context.Context, f service.Fetching) (service.Fetched, error) {
	m := &engramv1.FetchCopiesRequest{MaxBytes: f.MaxBytes}
	for _, p := range f.Patterns {
		m.Patterns = append(m.Patterns, p.String())
	}
	if f.Span != (engram.Interval{}) {
		m.Span = spanMessage(f.Span)
	}
	got, err := call(ctx, a.c, a.c.copies.FetchCopies, m, once)
	return service.Fetched{Versions: got.GetVersions(), Had: got.GetHad(), Bytes: got.GetBytes(), More: got.GetMore()}, err
}
