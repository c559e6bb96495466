package h2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var options = Options{
	MaxStreams: 10, StreamWindow: 1 << 20, ConnWindow: 1 << 20, MaxHeaderBytes: 16 << 10,
	HeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, StallTimeout: time.Minute, PingTimeout: 20 * time.Second,
	ErrorLog: log.New(io.Discard, "", 0),
}

// listen serves h over TCP until the test ends.
func listen(t *testing.T, h http.HandlerFunc) (*http.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	hs := &http.Server{Protocols: p, Handler: h}
	Serve(hs, options)
	var serving sync.WaitGroup
	serving.Go(func() { _ = hs.Serve(l) }) // ends with the test
	t.Cleanup(func() { hs.Close(); serving.Wait() })
	return hs, "http://" + l.Addr().String()
}

func client(t *testing.T) *http.Client {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: p}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// Answers of every form arrive as a handler gives them.
func TestAnswers(t *testing.T) {
	_, at := listen(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/short":
			io.WriteString(w, "short")
		case "/trailers":
			w.Header().Set("Trailer", "Declared")
			io.WriteString(w, "content")
			w.Header().Set("Declared", "a")
			w.Header().Set(http.TrailerPrefix+"Other", "b")
		case "/status":
			w.Header().Set("Own", "x")
			w.WriteHeader(http.StatusTeapot)
			w.Header().Set("Late", "x")
		case "/flushed":
			w.(http.Flusher).Flush()
			io.WriteString(w, "later")
		case "/nothing":
			w.WriteHeader(http.StatusNoContent)
		case "/early":
			io.WriteString(w, "before the request is read")
		case "/large-header":
			w.Header().Set("Own", strings.Repeat("x", 40<<10))
		case "/abort":
			panic(http.ErrAbortHandler)
		default:
			io.Copy(w, r.Body)
		}
	})
	c := client(t)
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/short", "", "200 short map[] length 5"},
		{"HEAD", "/short", "", "200  map[] length -1"},
		{"GET", "/trailers", "", "200 content map[Declared:[a] Other:[b]] length -1"},
		{"GET", "/status", "", "418  map[] length 0"},
		{"GET", "/flushed", "", "200 later map[] length -1"},
		{"GET", "/nothing", "", "204  map[] length 0"},
		{"POST", "/early", strings.Repeat("x", 5<<20), "200 before the request is read map[] length 26"},
		{"GET", "/large-header", "", "200  map[] length 0"},
		{"POST", "/echo", "content", "200 content map[] length 7"},
	} {
		r, err := http.NewRequest(tt.method, at+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(r)
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			t.Errorf("%s: %v", tt.path, err)
		}
		if got := fmt.Sprintf("%d %s %v length %d", res.StatusCode, body, res.Trailer, res.ContentLength); got != tt.want {
			t.Errorf("%s is answered with %s; want %s", tt.path, got, tt.want)
		}
		if res.Header.Get("Late") != "" || res.Header.Get("Date") == "" {
			t.Errorf("%s has the header %v", tt.path, res.Header)
		}
	}
	if _, err := c.Get(at + "/abort"); err == nil {
		t.Error("a handler that aborts has answered")
	}
}

// Many large calls go both ways at once over one connection: nobody waits for somebody who
// waits for him.
func TestBothWaysAtOnce(t *testing.T) {
	_, at := listen(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	c := client(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			res, err := c.Post(at, "application/octet-stream", bytes.NewReader(content))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if got, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(content))
			}
		})
	}
	calls.Wait()
}

// A server that stops finishes its calls, takes no others, and ends.
func TestShutdown(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	hs, at := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		io.WriteString(w, "finished")
	})
	c := client(t)
	var calls sync.WaitGroup
	calls.Go(func() {
		res, err := c.Get(at)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if b, err := io.ReadAll(res.Body); err != nil || string(b) != "finished" {
			t.Errorf("%s, %v", b, err)
		}
	})
	<-began
	over := make(chan error)
	go func() { over <- hs.Shutdown(context.Background()) }()
	close(finish)
	if err := <-over; err != nil {
		t.Error(err)
	}
	calls.Wait()
	if _, err := c.Get(at); err == nil {
		t.Error("a server that has ended answers")
	}
}

// raw is a client that sends frames as it likes.
type raw struct {
	*http2.Framer
	nc      net.Conn
	block   bytes.Buffer
	encoder *hpack.Encoder
	served  chan struct{} // closed when the server has ended
}

// dial connects to a server of h without a network.
func dial(h http.HandlerFunc, o Options) *raw {
	ours, theirs := net.Pipe()
	r := &raw{nc: ours, served: make(chan struct{})}
	r.Framer = http2.NewFramer(ours, ours)
	r.encoder = hpack.NewEncoder(&r.block)
	go func() {
		defer close(r.served)
		newConn(o, theirs, nil, h, context.Background()).serve()
	}()
	return r
}

// begin says what a client says first.
func (r *raw) begin(t *testing.T, settings ...http2.Setting) {
	t.Helper()
	if err := r.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
}

// ask begins a request on a stream.
func (r *raw) ask(id uint32, method string, ends bool) error {
	r.block.Reset()
	for _, f := range [][2]string{{":method", method}, {":path", "/"}, {":scheme", "http"}, {":authority", "x"}} {
		r.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return r.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: r.block.Bytes(), EndHeaders: true, EndStream: ends})
}

// drain reads and drops what the server says, but for the frames that are wanted.
func (r *raw) drain(want func(http2.Frame)) {
	for {
		f, err := r.ReadFrame()
		if err != nil {
			return
		}
		if want != nil {
			want(f)
		}
	}
}

// Clients that are silent, that want nothing or that do not read are left after their time.
func TestClientsThatDoNothing(t *testing.T) {
	short := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "short") }
	for _, tt := range []struct {
		name    string
		do      func(t *testing.T, r *raw)
		reads   bool
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"nothing is said", func(*testing.T, *raw) {}, true, 5 * time.Second, 5 * time.Second},
		{"nothing after the settings", func(t *testing.T, r *raw) { r.begin(t) }, true, 40 * time.Second, time.Minute},
		{"nothing is wanted", func(t *testing.T, r *raw) {
			r.begin(t)
			for r.WriteSettingsAck() == nil { // it lives, which is no reason to stay
				time.Sleep(time.Second)
			}
		}, true, 2 * time.Minute, 3 * time.Minute},
		{"nothing is read", func(t *testing.T, r *raw) {
			r.begin(t)
			for id := uint32(1); r.ask(id, "GET", true) == nil; id += 2 {
				time.Sleep(time.Second)
			}
		}, false, time.Minute, 100 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := dial(short, options)
				if tt.reads {
					go r.drain(nil)
				}
				began := time.Now()
				tt.do(t, r)
				<-r.served
				if took := time.Since(began); took < tt.atLeast || took > tt.atMost {
					t.Errorf("it was left after %v; want %v to %v", took, tt.atLeast, tt.atMost)
				}
				r.nc.Close()
			})
		})
	}
}

// A client that gives no room to send, or hardly any, loses that call after its time, and no
// other, although the handler has returned.
func TestClientThatTakesNothing(t *testing.T) {
	t.Run("nothing", func(t *testing.T) { takesNothing(t, func(*raw) {}) })
	t.Run("a byte", func(t *testing.T) {
		takesNothing(t, func(r *raw) {
			if err := r.WriteWindowUpdate(1, 1); err != nil {
				t.Error(err)
			}
		})
	})
}

// takesNothing has a client do little twice within the time that it has.
func takesNothing(t *testing.T, little func(*raw)) {
	synctest.Test(t, func(t *testing.T) {
		r := dial(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "short") }, options)
		var lost atomic.Int32
		go r.drain(func(f http2.Frame) {
			switch f := f.(type) {
			case *http2.RSTStreamFrame:
				lost.Add(1)
			case *http2.PingFrame:
				go http2.NewFramer(r.nc, nil).WritePing(true, f.Data)
			}
		})
		r.begin(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err := r.ask(1, "GET", true); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int32{0, 1} {
			time.Sleep(options.StallTimeout - time.Second)
			synctest.Wait()
			if got := lost.Load(); got != n {
				t.Errorf("%d streams were reset; want %d", got, n)
			}
			if n == 0 {
				little(r)
			}
		}
		r.nc.Close()
		<-r.served
	})
}

// A client that lives and does not read long headers is left after its time.
func TestClientThatReadsNoHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := dial(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 8*maxFrame))
		}, options)
		r.begin(t)
		for range 3 { // its settings, room, and that it has heard ours
			if _, err := r.ReadFrame(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.ask(1, "GET", true); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for r.WriteSettingsAck() == nil {
			time.Sleep(time.Second)
		}
		<-r.served
		if took := time.Since(began); took < options.StallTimeout || took > 2*options.StallTimeout {
			t.Errorf("it was left after %v", took)
		}
		r.nc.Close()
	})
}

// Streams that are begun and reset at once, as many as one likes, are no more calls at a
// time than a client may have.
func TestResets(t *testing.T) {
	var running, most atomic.Int32
	r := dial(func(_ http.ResponseWriter, r *http.Request) {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		<-r.Context().Done()
		running.Add(-1)
	}, options)
	refused := 0
	heard := make(chan struct{}, 1) // has one when a ping is answered
	var reading sync.WaitGroup
	reading.Go(func() {
		r.drain(func(f http2.Frame) {
			switch f := f.(type) {
			case *http2.RSTStreamFrame:
				if f.ErrCode == http2.ErrCodeRefusedStream {
					refused++
				}
			case *http2.PingFrame:
				heard <- struct{}{}
			}
		})
	})
	r.begin(t)
	for i := range uint32(20_000) {
		id := 2*i + 1
		err := errors.Join(r.ask(id, "POST", false), r.WriteRSTStream(id, http2.ErrCodeCancel))
		if err == nil && i%100 == 99 {
			// One that does not read is cut off; on a busy machine the reader falls behind.
			if err = r.WritePing(false, [8]byte{}); err == nil {
				select {
				case <-heard:
				case <-r.served:
				}
			}
		}
		if err != nil {
			t.Fatalf("stream %d: %v", id, err)
		}
	}
	for i := range uint32(30) { // which stay
		if err := r.ask(100_001+2*i, "POST", false); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.WritePing(false, [8]byte{1}); err != nil {
		t.Fatal(err)
	}
	r.nc.Close()
	<-r.served
	reading.Wait()
	if n := int(most.Load()); n > 2*options.MaxStreams || n == 0 {
		t.Errorf("%d calls at once; at most %d are allowed", n, 2*options.MaxStreams)
	}
	if refused < 20 || running.Load() != 0 {
		t.Errorf("%d streams were refused, %d calls run still", refused, running.Load())
	}
}

// A client that floods the server with questions and does not read the answers is cut off.
func TestFloods(t *testing.T) {
	for name, send := range map[string]func(*raw) error{
		"pings":    func(r *raw) error { return r.WritePing(false, [8]byte{}) },
		"settings": func(r *raw) error { return r.WriteSettings() },
		"resets": func(r *raw) error {
			return r.WriteRawFrame(http2.FramePriority, 0, 1, []byte{0, 0, 0, 1, 0}) // on itself, which is answered
		},
	} {
		r := dial(func(http.ResponseWriter, *http.Request) {}, options)
		r.begin(t)
		n := 0
		for send(r) == nil {
			if n++; n > 100_000 {
				t.Fatalf("%s: the server still listens", name)
			}
		}
		<-r.served
		r.nc.Close()
	}
}

// A server that stops before the client has said anything ends the connection, although the
// client speaks then.
func TestStopBeforeTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := newConn(options, theirs, nil, http.NotFoundHandler(), context.Background())
		c.stop()
		served := make(chan struct{})
		go func() { defer close(served); c.serve() }()
		r := &raw{Framer: http2.NewFramer(ours, ours)}
		gone := false
		go r.WriteSettings() // it may be cut off
		r.drain(func(f http2.Frame) {
			if _, ok := f.(*http2.GoAwayFrame); ok {
				gone = true
			}
		})
		<-served
		if !gone {
			t.Error("the client was not told")
		}
		ours.Close()
	})
}

// The first settings of a client do not lift the bound of a connection that ends.
func TestSettingsAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := newConn(options, halfClosing{theirs}, nil, http.NotFoundHandler(), context.Background())
		served := make(chan struct{})
		go func() { defer close(served); c.serve() }()
		r := &raw{Framer: http2.NewFramer(ours, ours)}
		go r.drain(nil)
		c.stop()
		synctest.Wait() // it has hung up
		r.begin(t)
		began := time.Now()
		<-served
		if took := time.Since(began); took > time.Second {
			t.Errorf("it ended after %v", took)
		}
		ours.Close()
	})
}

// halfClosing is a connection that can be read when the other has hung up.
type halfClosing struct{ net.Conn }

func (halfClosing) CloseWrite() error { return nil }

// Streams that wait for room on the connection, and are reset, are not kept.
func TestResetsWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c := newConn(options, theirs, nil, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Write(make([]byte, firstWin+1))
		}), context.Background())
		served := make(chan struct{})
		go func() { defer close(served); c.serve() }()
		r := &raw{Framer: http2.NewFramer(ours, ours), nc: ours}
		r.encoder = hpack.NewEncoder(&r.block)
		go r.drain(nil)
		r.begin(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
		for i := range uint32(100) {
			if err := r.ask(2*i+1, "GET", true); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := r.WriteRSTStream(2*i+1, http2.ErrCodeCancel); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		c.mu.Lock()
		if n := len(c.mu.starved); n > 0 {
			t.Errorf("%d streams are kept that have ended", n)
		}
		c.mu.Unlock()
		ours.Close()
		<-served
	})
}

// Long names of headers are not kept for the time of a connection.
func TestLongNames(t *testing.T) {
	c := &conn{names: map[string]string{}}
	long := strings.Repeat("a", maxName+1)
	if got, want := c.name(long), "A"+long[1:]; got != want || len(c.names) > 0 {
		t.Errorf("%s, and %d names are kept", got, len(c.names))
	}
}

// What is against the rules ends the stream, or the connection.
func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(r *raw) error
		want string
	}{
		{"no settings first", func(r *raw) error { return r.WritePing(false, [8]byte{}) }, "GOAWAY PROTOCOL_ERROR"},
		{"an even stream", func(r *raw) error { return errors.Join(r.WriteSettings(), r.ask(2, "GET", true)) }, "GOAWAY PROTOCOL_ERROR"},
		{"data on a stream that there is not", func(r *raw) error { return errors.Join(r.WriteSettings(), r.WriteData(7, true, nil)) }, "GOAWAY PROTOCOL_ERROR"},
		{"more than there is room for", func(r *raw) error {
			err := errors.Join(r.WriteSettings(), r.ask(1, "POST", false))
			for range 1 + options.ConnWindow/maxFrame {
				err = errors.Join(err, r.WriteData(1, false, make([]byte, maxFrame)))
			}
			return err
		}, "FLOW_CONTROL_ERROR"},
		{"a window that is too large", func(r *raw) error { return errors.Join(r.WriteSettings(), r.WriteWindowUpdate(0, 1<<31-1)) }, "GOAWAY FLOW_CONTROL_ERROR"},
		{"no method", func(r *raw) error { return errors.Join(r.WriteSettings(), r.ask(1, "", true)) }, "RST_STREAM PROTOCOL_ERROR"},
		{"CONNECT", func(r *raw) error { return errors.Join(r.WriteSettings(), r.ask(1, "CONNECT", true)) }, "RST_STREAM PROTOCOL_ERROR"},
		{"a frame too large", func(r *raw) error {
			return errors.Join(r.WriteSettings(), r.WriteData(1, true, make([]byte, maxFrame+1)))
		}, "GOAWAY FRAME_SIZE_ERROR"},
	} {
		r := dial(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, options)
		said := make(chan string, 1)
		go r.drain(func(f http2.Frame) {
			text := ""
			switch f := f.(type) {
			case *http2.GoAwayFrame:
				text = fmt.Sprint("GOAWAY ", f.ErrCode)
			case *http2.RSTStreamFrame:
				text = fmt.Sprint("RST_STREAM ", f.ErrCode)
			default:
				return
			}
			select {
			case said <- text:
			default:
			}
		})
		go tt.do(r) // it may be cut off in the middle
		if got := <-said; !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s is answered with %s; want %s", tt.name, got, tt.want)
		}
		r.nc.Close()
		<-r.served
	}
}

// Whatever a client sends, the server and its calls come to an end, without a panic.
func FuzzFrames(f *testing.F) {
	frames := func(do func(r *raw)) []byte {
		var b bytes.Buffer
		r := &raw{Framer: http2.NewFramer(&b, nil)}
		r.encoder = hpack.NewEncoder(&r.block)
		do(r)
		return b.Bytes()
	}
	f.Add([]byte{})
	f.Add(frames(func(r *raw) { r.WriteSettings(); r.ask(1, "GET", true); r.WritePing(false, [8]byte{}) }))
	f.Add(frames(func(r *raw) {
		r.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		r.ask(1, "POST", false)
		r.WriteDataPadded(1, false, []byte("content"), make([]byte, 5))
		r.WriteWindowUpdate(1, 2)
		r.ask(3, "POST", false)
		r.WriteRSTStream(3, http2.ErrCodeCancel)
		r.WriteData(1, true, nil)
		r.WriteGoAway(3, http2.ErrCodeNo, nil)
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := dial(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(w, r.Body)
			w.Header().Set(http.TrailerPrefix+"Status", "0")
		}, options)
		go r.drain(nil)
		r.nc.Write(b) // it may be cut off
		r.nc.Close()
		<-r.served
	})
}
