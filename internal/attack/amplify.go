package attack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Request is a request over HTTP that wants to become large.
type Request struct {
	Name   string
	Path   string // of the procedure
	Type   string // the content type; "" for a GET
	Header http.Header
	Query  string // of a GET
	Body   []byte
	// Parallel is how many are sent at the same time.
	Parallel int
	// Lasting says that the answer has no end: once it has begun, the call stays open until
	// the context ends.
	Lasting bool
	// Unpacked is how many bytes the message has when it is decompressed.
	Unpacked int
}

// Send sends the request to a server at "http://host:port" and returns what it answered.
func (r *Request) Send(ctx context.Context, c *http.Client, server string) (status int, answer string, err error) {
	method, target := http.MethodPost, server+r.Path
	if r.Type == "" {
		method, target = http.MethodGet, target+"?"+r.Query
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(r.Body))
	if err != nil {
		return 0, "", err
	}
	for k, v := range r.Header {
		req.Header[k] = v
	}
	if r.Type != "" {
		req.Header.Set("Content-Type", r.Type)
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, "", err
	}
	if r.Lasting {
		b := make([]byte, 4<<10)
		n, err := res.Body.Read(b)
		context.AfterFunc(ctx, func() { res.Body.Close() })
		return res.StatusCode, string(b[:n]), err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return res.StatusCode, "", err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, string(b) + res.Header.Get("Grpc-Message") + res.Trailer.Get("Grpc-Message"), err
}

const (
	memory   = "/engram.v1.MemoryService/"
	poses    = "/engram.v1.PoseService/"
	longTerm = "/engram.v1.LongTermService/"
	pulls    = "/engram.v1.CopyService/"
	names    = "/engram.v1.NameService/"
)

const mib = 1 << 20

// Amplifications returns requests to every kind of procedure, in every protocol.
func Amplifications() []Request {
	empty := Repeat(Field(1, nil), 8*mib)             // of the first field: 4 million empty messages
	many := Repeat(Field(1, nil), 100*mib)            // what 100 kB unpack to
	values := Repeat(Field(1, Field(1, nil)), 20*mib) // lists of empty values
	all := []Request{
		post("8 kB of empty updates", memory+"Commit", empty),
		post("100 kB of empty updates", memory+"Commit", many),
		post("empty instances in one update", memory+"Commit", Field(1, Repeat(Field(3, nil), 32*mib))),
		post("empty values in one payload", memory+"Commit", Field(1, Field(3, Field(1, Field(3, Field(6, values)))))),
		post("members of one payload", memory+"Commit", Field(1, Field(3, Field(1, Field(3, Field(5, Repeat(Field(1, Field(1, nil)), 32*mib))))))),
		post("a payload that lies deep", memory+"Commit", Field(1, Field(3, Field(1, Field(3, Deep(9_000, 6, 1)))))),
		post("unknown fields", memory+"Commit", Repeat(protowire.AppendVarint(protowire.AppendTag(nil, 90, protowire.VarintType), 1), 64*mib)),
		post("unknown groups", memory+"Commit", Repeat(protowire.AppendTag(protowire.AppendTag(nil, 90, protowire.StartGroupType), 90, protowire.EndGroupType), 64*mib)),
		post("numbers in a revision", poses+"CommitRevision", Field(2, Field(6, Repeat(protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), 0), 90*mib)))),
		post("keys of a revision", poses+"CommitRevision", Repeat(Field(2, nil), 64*mib)),
		post("files of a type", memory+"AddType", Field(1, Field(2, Repeat(Field(1, nil), 8*mib)))),
		post("messages of a type", memory+"AddType", Field(1, Field(2, Field(1, Repeat(Field(4, nil), 4*mib-64))))),
		post("members that hold themselves", memory+"AddType", Field(1, Field(2, append(Field(1, Field(54111, nil)), Repeat(Field(1, nil), 60*mib)...)))),
		post("nodes of a query", memory+"Query", many),
		post("names of a query", memory+"Query", Field(1, Field(1, Field(2, Repeat(Field(1, nil), 64*mib))))),
		post("IDs to predict", memory+"Predict", many),
		post("levels of a pattern", memory+"Stats", Field(3, many)),
		post("questions about poses", poses+"LookUp", many),
		post("settings of a policy", longTerm+"SetPolicy", Repeat(Field(2, nil), 64*mib)),
		stream("snapshots to forget", longTerm+"Forget", "application/connect+proto", "Connect-Content-Encoding", Repeat(Field(2, nil), 64*mib)),
		post("memories to register", names+"Register", many),
		json("empty updates in JSON", memory+"Commit", `{"updates":[`, "{}", 60*mib, "]}"),
		json("values in JSON", memory+"Commit", `{"updates":[{"instances":[{"payload":{"json":[`, "1", 40*mib, "]}}]}]}"),
		json("objects in JSON", memory+"Commit", `{"updates":[{"instances":[{"payload":{"json":[`, "{}", 40*mib, "]}}]}]}"),
		json("nodes in JSON", memory+"Query", `{"memories":[`, "{}", 60*mib, "]}"),
		stream("updates in a gRPC stream", memory+"CommitStream", "application/grpc+proto", "Grpc-Encoding", many),
		stream("updates in a stream", memory+"CommitStream", "application/connect+proto", "Connect-Content-Encoding", many),
		stream("updates over gRPC", memory+"Commit", "application/grpc", "Grpc-Encoding", many),
		stream("nodes over gRPC-Web", memory+"Query", "application/grpc-web+proto", "Grpc-Encoding", many),
		post("large regexes of a query", memory+"Query", bytes.Repeat(Field(1, Field(1, Field(3, []byte(`\PL{990}`)))), 300)),
		stream("large regexes of patterns", longTerm+"Forget", "application/connect+proto", "Connect-Content-Encoding", bytes.Repeat(Field(1, []byte(`~\PL{990}/~\PL{990}`)), 300)),
		stream("patterns of a subscription", memory+"Subscribe", "application/connect+proto", "Connect-Content-Encoding", many),
		stream("shares of a pull", pulls+"Pull", "application/grpc", "Grpc-Encoding", Field(1, Repeat(Field(2, nil), 100*mib))),
		// What stays open.
		subscribed("one pattern of many subscriptions", bytes.Repeat(Field(1, []byte("a/b/c/d")), 9990)),
		subscribed("one regex of many subscriptions", bytes.Repeat(Field(1, []byte("a/b/c/~[a-z]{900}")), 9990)),
		subscribed("names of many subscriptions", numbered(1, "a/b/c/%d", 9990)),
		subscribed("patterns of many subscriptions", numbered(1, "a/*/c/%d", 9990)),
		subscribed("large regexes of many subscriptions", numbered(1, "a/b/c/~(ab?){300}%d", 250)),
		subscribed("filters of many subscriptions", Field(6, []byte("1 == 0 || ["+strings.Repeat("a,", 2000)+"] == [1]"))),
		subscribed("fields of many subscriptions", numbered(7, "f%d", 9990)),
		// What is just taken, by many.
		many10(post("updates that are taken", memory+"Commit", Repeat(Field(1, nil), 600_000))),
		many10(post("values that are taken", memory+"Commit", Field(1, Field(3, Field(1, Field(3, Field(6, Repeat(Field(1, nil), 1_200_000)))))))),
		many10(json("JSON that is taken", memory+"Commit", `{"updates":[{"instances":[{"payload":{"json":[`, "1", 2_400_000, "]}}]}]}")),
		many10(post("large payloads", memory+"Commit", Field(1, Field(3, Field(1, Field(2, make([]byte, 60*mib))))))),
		get("a web page's queries", memory+"Query", Repeat(Field(1, nil), 90*mib)), // 122 kB of base64
		get("a web page's smaller queries", memory+"Query", Repeat(Field(1, nil), 40*mib)),
		get("a web page's looks at entities", memory+"Latest", many),
	}
	for _, r := range all[:2] {
		r.Name, r.Parallel = r.Name+", by many", 30
		all = append(all, r)
	}
	return all
}

func post(name, path string, message []byte) Request {
	return Request{
		Name: name, Path: path, Type: "application/proto", Header: http.Header{"Content-Encoding": {"gzip"}},
		Body: Gzip(message), Parallel: 1, Unpacked: len(message),
	}
}

func json(name, path, before, item string, size int, after string) Request {
	text := before + strings.Repeat(item+",", size/(len(item)+1)) + item + after
	r := post(name, path, []byte(text))
	r.Type = "application/json"
	return r
}

func stream(name, path, contentType, encoding string, message []byte) Request {
	packed := Gzip(message)
	body := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(packed))), packed...)
	return Request{Name: name, Path: path, Type: contentType, Header: http.Header{encoding: {"gzip"}, "Te": {"trailers"}}, Body: body, Parallel: 1, Unpacked: len(message)}
}

// subscribed returns subscriptions.
func subscribed(name string, message []byte) Request {
	r := stream(name, memory+"Subscribe", "application/connect+proto", "Connect-Content-Encoding", message)
	r.Parallel, r.Lasting = 300, true
	return r
}

// numbered returns fields with n texts.
func numbered(field protowire.Number, format string, n int) (b []byte) {
	for i := range n {
		b = append(b, Field(field, fmt.Appendf(nil, format, i))...)
	}
	return b
}

func many10(r Request) Request {
	r.Parallel = 10
	return r
}

func get(name, path string, message []byte) Request {
	q := url.Values{"encoding": {"proto"}, "base64": {"1"}, "compression": {"gzip"}, "message": {base64.RawURLEncoding.EncodeToString(Gzip(message))}}
	return Request{Name: name, Path: path, Query: q.Encode(), Parallel: 30, Unpacked: len(message)}
}

// Field returns an encoded field that says how long it is.
func Field(number protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
}

// Repeat returns b again and again, in about so many bytes.
func Repeat(b []byte, size int) []byte { return bytes.Repeat(b, size/len(b)) }

// Deep returns messages that lie in each other, by the fields in turn.
func Deep(depth int, fields ...protowire.Number) []byte {
	var b []byte
	for i := range depth {
		b = Field(fields[(depth-1-i)%len(fields)], b)
	}
	return b
}

// Gzip compresses as well as it can.
func Gzip(b []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	// A buffer takes everything.
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}
