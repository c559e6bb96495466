package backbone

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/fleet/internal/subject"
)

// Options configure a connection.
type Options struct {
	// URL of a NATS server, "nats://host:port" or "tls://host:port"; several of one
	// cluster are separated by commas.
	URL string
	// InProcess takes the place of the URL for a server in this process.
	InProcess interface{ InProcessConn() (net.Conn, error) }
	// Credentials make the connection mutual TLS, with a server of the deployment or of
	// the authorities in CAFile. Nil means none.
	Credentials *credentials.Store
	// For a NATS cluster with an administration of its own: a file of certificates of its
	// authorities (PEM), one of NATS credentials (user JWT and seed), one with the seed
	// of an nkey.
	CAFile, CredsFile, NKeyFile string
	// Robot names the robot, or the base station, whose domain this is.
	Robot string
	Log   *slog.Logger // nil means slog.Default()
}

var robotName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckRobot returns an Invalid error if a name cannot be that of a robot.
func CheckRobot(name string) error {
	if !robotName.MatchString(name) {
		return engram.Errorf(engram.Invalid, name, "a robot's name has 1 to 64 letters, digits, \"-\" and \"_\"")
	}
	return nil
}

// Backbone is a connection to the message fabric. It is made again when it breaks;
// what is sent meanwhile fails as Unavailable. Safe for concurrent use.
type Backbone struct {
	o       Options
	conn    *nats.Conn
	js      jetstream.JetStream
	tunnels *tunnels

	permissions *permissions
}

// connectPatience is how long a NATS server may take to answer a program whose context
// sets no deadline: it may be on a busy machine.
const connectPatience = 10 * time.Second

// Connect connects to a NATS server. The error is Unavailable if none answers. ctx
// bounds the call only.
func Connect(ctx context.Context, o Options) (*Backbone, error) {
	if o.Robot != "" {
		if err := CheckRobot(o.Robot); err != nil {
			return nil, err
		}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.InProcess == nil && !AreURLs(o.URL) {
		return nil, engram.Errorf(engram.Invalid, Redacted(o.URL), "not URLs of NATS servers; write nats://host:port, and what is special in a password as in %%40")
	}
	b := &Backbone{o: o, permissions: newPermissions(Redacted(o.URL), o.Log)}
	options := []nats.Option{
		nats.Name("engram"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.ReconnectBufSize(-1), // what cannot be sent now fails now
		nats.PingInterval(4 * time.Second),
		nats.MaxPingsOutstanding(3),
		nats.ErrorHandler(func(_ *nats.Conn, s *nats.Subscription, err error) {
			if b.permissions.note(err) {
				return
			}
			on := ""
			if s != nil {
				on = s.Subject
			}
			o.Log.Warn("backbone", "subject", on, "error", err)
		}),
	}
	identity := ""
	if o.Credentials != nil {
		identity = string(o.Credentials.Identity())
		options = append(options, nats.CustomInboxPrefix(subject.Inbox(identity)))
	}
	options = append(options, nats.ReconnectHandler(func(*nats.Conn) { b.permissions.forget() }))
	if o.InProcess != nil {
		options = append(options, nats.InProcessServer(o.InProcess))
	}
	secured, err := o.secured()
	if err != nil {
		return nil, err
	}
	options = append(options, secured...)
	patience := connectPatience
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(time.Until(deadline), time.Millisecond)
	}
	options = append(options, nats.Timeout(patience))
	for attempts := 3; ; attempts-- {
		b.conn, err = nats.Connect(o.URL, options...)
		// A server asks a program that does not get to run for a sign of life before it has
		// connected, which package nats takes for a wrong answer.
		// One that refuses may close in the middle of saying so, which breaks TLS.
		if err == nil || attempts == 1 || !strings.HasSuffix(err.Error(), "got 'PING'") && !strings.Contains(err.Error(), "bad record MAC") {
			break
		}
	}
	if err != nil {
		if e, ok := errors.AsType[*engram.Error](err); ok {
			return nil, e // found by this side
		}
		if secure.Refused(err) || denied(err) {
			return nil, engram.Errorf(engram.Forbidden, Redacted(o.URL), "the backbone does not let this program in; %s %w", o.doubted(), err)
		}
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
			return nil, engram.Errorf(engram.Forbidden, Redacted(o.URL), "the NATS server is not believed: its certificate is of no authority that this program knows (for 'engram serve', --backbone-ca names others): %w", err)
		}
		return nil, engram.Errorf(engram.Unavailable, Redacted(o.URL), "the backbone cannot be reached; is a NATS server running there? %w", err)
	}
	if b.js, err = jetstream.New(b.conn); err == nil {
		b.tunnels, err = newTunnels(b.conn, identity)
	}
	if err != nil {
		b.conn.Close()
		return nil, engram.Errorf(engram.CodeOf(err), Redacted(o.URL), "the backbone cannot be used: %w", err)
	}
	return b, nil
}

// doubted says what to look at where a NATS server refuses who connects.
func (o Options) doubted() string {
	switch {
	case o.CredsFile != "":
		return "are the user's credentials in " + o.CredsFile + " valid there?"
	case o.NKeyFile != "":
		return "is the nkey in " + o.NKeyFile + " known there?"
	case o.Credentials != nil:
		return "are its credentials valid there?"
	}
	return "it gives no credentials but those in the URL, if there are some:"
}

// denied reports whether a NATS server refuses who connects.
func denied(err error) bool {
	for _, refusal := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked, nats.ErrAccountAuthExpired} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}

// CheckFiles returns an error that names the file of CAFile, CredsFile or NKeyFile that is
// not there or is not what it should be, without telling what is in it.
func (o Options) CheckFiles() error {
	for _, f := range []struct {
		file, what string
		right      func([]byte) bool
	}{
		{o.CAFile, "no certificates (PEM)", func(text []byte) bool { return x509.NewCertPool().AppendCertsFromPEM(text) }},
		{o.CredsFile, "not the JWT and the seed of a user, as 'nsc generate creds' writes them", func(text []byte) bool {
			token, err := nkeys.ParseDecoratedJWT(text)
			if err != nil || token == "" {
				return false
			}
			user, err := nkeys.ParseDecoratedUserNKey(text)
			return err == nil && user != nil
		}},
		{o.NKeyFile, "not the seed of an nkey", func(text []byte) bool {
			key, err := nkeys.ParseDecoratedNKey(text)
			return err == nil && key != nil
		}},
	} {
		if f.file == "" {
			continue
		}
		text, err := os.ReadFile(f.file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return engram.Errorf(engram.NotFound, f.file, "there is no such file")
		case err != nil:
			return engram.Errorf(engram.Unavailable, f.file, "the file cannot be read: %w", err)
		case !f.right(text):
			return engram.Errorf(engram.Invalid, f.file, "this is %s", f.what)
		}
	}
	return nil
}

// secured returns the options by which the connection is secure.
func (o Options) secured() ([]nats.Option, error) {
	if o.InProcess != nil {
		return nil, nil
	}
	if err := o.CheckFiles(); err != nil {
		return nil, err
	}
	var out []nats.Option
	if o.Credentials != nil {
		config := o.Credentials.ClientConfig()
		config.NextProtos = nil
		if o.CAFile != "" {
			// Another authority's servers: known by their host's name, as is usual.
			config = &tls.Config{MinVersion: tls.VersionTLS12, GetClientCertificate: config.GetClientCertificate}
		}
		out = append(out, nats.Secure(config))
	}
	if o.CAFile != "" {
		out = append(out, nats.RootCAs(o.CAFile))
	}
	if o.CredsFile != "" {
		out = append(out, nats.UserCredentials(o.CredsFile))
	}
	if o.NKeyFile != "" {
		nkey, err := nats.NkeyOptionFromSeed(o.NKeyFile)
		if err != nil {
			return nil, engram.Errorf(engram.Invalid, o.NKeyFile, "not the seed of an nkey")
		}
		out = append(out, nkey)
	}
	return out, nil
}

// Conn returns the connection.
func (b *Backbone) Conn() *nats.Conn { return b.conn }

// JetStream returns the JetStream of the robot's own domain.
func (b *Backbone) JetStream() jetstream.JetStream { return b.js }

// JetStreamOf returns the JetStream of another robot's domain, which can be reached
// while the leaf nodes between are connected.
func (b *Backbone) JetStreamOf(robot string) (jetstream.JetStream, error) {
	if err := CheckRobot(robot); err != nil {
		return nil, err
	}
	js, err := jetstream.NewWithDomain(b.conn, robot)
	if err != nil {
		return nil, engram.Errorf(engram.Internal, robot, "JetStream: %w", err)
	}
	return js, nil
}

// Robot returns the robot's name, "" if it has none.
func (b *Backbone) Robot() string { return b.o.Robot }

// Domain returns the JetStream domain that the connection leads to: on a backbone that
// a robot embeds, the robot's name. It is "" where there is none.
func (b *Backbone) Domain(ctx context.Context) (string, error) {
	var info *jetstream.AccountInfo
	err := b.Names(ctx, func(ctx context.Context) (err error) {
		info, err = b.js.AccountInfo(ctx)
		return err
	})
	if engram.CodeOf(err) == engram.Forbidden {
		return "", err
	}
	if err != nil {
		return "", engram.Errorf(engram.Unavailable, Redacted(b.o.URL), "the backbone does not offer JetStream, in which names are kept; is it on there for this account, and has the server as much memory and disk as the account reserves? %w", err)
	}
	return info.Domain, nil
}

// Close ends the connections through the backbone, and the one to it.
func (b *Backbone) Close() error {
	b.tunnels.close()
	_ = b.conn.FlushTimeout(time.Second) // the far ends find out by themselves
	b.conn.Close()
	return nil
}

// AreURLs reports whether a text is URLs as in [Options].
func AreURLs(text string) bool {
	for one := range strings.SplitSeq(text, ",") {
		if !IsURL(strings.TrimSpace(one), "nats", "tls") {
			return false
		}
	}
	return true
}

// IsURL reports whether a text is a URL with a host and one of the schemes.
func IsURL(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != ""
}

// Redacted returns the text of URLs, which commas may separate, without users, passwords
// and tokens: without all that is before the last @ of each, since passwords may have
// characters with which they are no URLs.
func Redacted(text string) string {
	var urls []string
	for part := range strings.SplitSeq(text, ",") {
		if n := len(urls); n > 0 && !strings.Contains(part, "://") {
			urls[n-1] += "," + part // it may be of a password
		} else {
			urls = append(urls, part)
		}
	}
	for i, u := range urls {
		if at := strings.LastIndexByte(u, '@'); at >= 0 && !strings.Contains(u, "://") && !strings.HasPrefix(u, "unix:") {
			urls[i] = "xxxxx" + u[at:]
		} else {
			urls[i] = userInfo.ReplaceAllString(u, "${1}xxxxx@")
		}
	}
	return strings.Join(urls, ",")
}

var userInfo = regexp.MustCompile(`(?s)(://).*@`)
