package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// Address looks at one address of a memory server: whether it answers there, and if not,
// why. The client is nil if it does not; the caller closes it.
func Address(ctx context.Context, address string, o Options) (found Findings, c *rpc.Client) {
	o = o.withDefaults()
	path, isSocket := strings.CutPrefix(address, "unix:")
	if isSocket {
		path = strings.TrimPrefix(path, "//")
		if found.socket(path) {
			return found, nil
		}
	}
	dialCtx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	c, err := rpc.Dial(dialCtx, address, o.Dial)
	switch {
	case err == nil:
		found.ok("address", fmt.Sprintf("server %q answers at %s", c.Server().Server, address))
		return found, c
	case engram.CodeOf(err) == engram.Forbidden && o.Dial.Credentials != nil:
		found.problem("address", fmt.Sprintf("the server at %s and this program do not believe each other: %s", address, strings.TrimPrefix(err.Error(), address+": ")),
			"look at the credentials with 'engram auth ls', where they were made; 'engram auth rotate' makes new ones")
	case engram.CodeOf(err) == engram.Forbidden:
		found.problem("address", fmt.Sprintf("the server at %s lets in only who says who they are", address), doCredentials)
	case engram.CodeOf(err) == engram.Invalid, strings.Contains(address, "://") && !strings.HasPrefix(address, "http") && !isSocket:
		what := err.Error()
		if e, ok := errors.AsType[*engram.Error](err); ok {
			what = fmt.Sprintf("%s is no address of a memory server: %s", e.Thing, e.Msg) // without what may be a password
		}
		found.problem("address", what, "write unix:/path, http://host:port or host:port")
	case isSocket:
		found.deadSocket(path, err)
	default:
		found.deadAddress(ctx, address, err, o)
	}
	return found, nil
}

const doCredentials = "say who you are with --credentials FILE or ENGRAM_CREDENTIALS; 'engram auth add' makes such files"

// socket looks at the file of a Unix socket; done if there is no need to try it.
func (f *Findings) socket(path string) (done bool) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.problem("address", "there is no socket "+path, fmt.Sprintf("start a server with 'engram serve --listen unix:%s', or say where it is with --address or ENGRAM_ADDRESS", path))
		return true
	case errors.Is(err, fs.ErrPermission):
		f.problem("address", "the folder of "+path+" may not be entered by "+me(), "run this as the user of the server, or have the server listen in a folder that you may enter")
		return true
	case err != nil:
		f.problem("address", fmt.Sprintf("%s cannot be looked at: %v", path, err), "check the path")
		return true
	case info.Mode().Type() != fs.ModeSocket:
		f.problem("address", path+" is no socket", "remove the file, or name another path")
		return true
	case unix.Access(path, unix.W_OK) != nil:
		f.problem("address", fmt.Sprintf("%s may not be used by %s: its mode is %v, it belongs to %s", path, me(), info.Mode().Perm(), owner(info)),
			"run this as the user of the server, or make its socket accessible to your group")
		return true
	}
	return false
}

// deadSocket says why a socket that is there does not answer.
func (f *Findings) deadSocket(path string, err error) {
	if errors.Is(err, syscall.ECONNREFUSED) {
		f.problem("address", "nobody listens at the socket "+path+": its server has ended without removing it",
			fmt.Sprintf("start a server with 'engram serve --listen unix:%s'; it takes the socket over", path))
		return
	}
	f.noMemory("unix:"+path, err, true)
}

// noMemory says why no memory server answers where something listens; known says that it
// would know who asks, if it wanted to.
func (f *Findings) noMemory(address string, err error, known bool) {
	hungUp := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || strings.HasSuffix(cause(err), "EOF")
	switch code := engram.CodeOf(err); {
	case hungUp && !known:
		f.problem("address", "what listens at "+address+" hangs up: it may let in only who says who they are", doCredentials)
	case code == engram.Unsupported:
		f.problem("address", fmt.Sprintf("what answers at %s is no memory server: %s", address, cause(err)), "give the address of a memory server; 'engram serve' says it when it starts")
	case code == engram.Conflict:
		f.problem("address", err.Error(), "two servers may share an address or a name; give each its own")
	case code == engram.Canceled:
		f.problem("address", "what listens at "+address+" does not answer: "+cause(err), "look whether the server hangs ('engram health'), and at its log")
	default:
		f.problem("address", fmt.Sprintf("nothing answers at %s: %s", address, cause(err)), "look whether the server runs, and at its log")
	}
}

// deadAddress says why an address of the network does not answer.
func (f *Findings) deadAddress(ctx context.Context, address string, err error, o Options) {
	target := address
	if u, parseErr := url.Parse(address); parseErr == nil && u.Host != "" {
		target = u.Host
	}
	host, _, splitErr := net.SplitHostPort(target)
	if splitErr != nil {
		f.noMemory(address, err, o.Dial.Credentials != nil)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if _, lookErr := net.DefaultResolver.LookupHost(ctx, host); lookErr != nil {
		f.problem("address", fmt.Sprintf("there is no host %q: %s", host, cause(lookErr)), "check the name, /etc/hosts and DNS; or write the IP address")
		return
	}
	nc, dialErr := (&net.Dialer{}).DialContext(ctx, "tcp", target)
	switch {
	case errors.Is(dialErr, syscall.ECONNREFUSED):
		f.problem("address", "no program listens at "+target, "start the server there with 'engram serve --listen "+target+"'; a server without --listen is reached on its own computer only")
	case dialErr != nil:
		f.problem("address", fmt.Sprintf("%s cannot be reached: %s", target, cause(dialErr)), "check that both computers are on the network ('ping "+host+"') and that no firewall is between them")
	default:
		nc.Close()
		f.noMemory(address, err, o.Dial.Credentials != nil)
	}
}

// Listen looks whether a server could listen at an address, as 'engram serve --listen'
// would.
func Listen(ctx context.Context, address string, o Options) (found Findings) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		found.listenUnix(strings.TrimPrefix(path, "//"))
		return found
	}
	l, err := rpc.Listen(address)
	if err == nil {
		l.Close()
		found.ok("listen", address+" is free")
		return found
	}
	port := address[strings.LastIndexByte(address, ':')+1:]
	switch {
	case engram.CodeOf(err) == engram.Invalid, engram.CodeOf(err) == engram.Unsupported:
		found.problem("listen", err.Error(), "write unix:/path or host:port")
	case errors.Is(err, syscall.EADDRINUSE):
		if c, name := memoryAt(ctx, address, o); c {
			found.warn("listen", fmt.Sprintf("server %q listens at %s already", name, address), "if it is the one that you mean, all is well; else use that one, stop it, or listen at another port")
			break
		}
		found.problem("listen", address+" is taken by another program", "find it with 'ss -ltnp sport = :"+port+"' and end it, or listen at another port; if it is a memory server, use that one")
	case errors.Is(err, syscall.EACCES):
		found.problem("listen", "port "+port+" may not be used by "+me(), "take a port above 1023")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		found.problem("listen", address+" is no address of this computer", "'ip addr' shows what it has; 0.0.0.0 stands for all")
	default:
		found.problem("listen", fmt.Sprintf("one cannot listen at %s: %s", address, cause(err)), "check the address")
	}
	return found
}

// memoryAt reports whether a memory server answers at an address.
func memoryAt(ctx context.Context, address string, o Options) (is bool, name string) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	c, err := rpc.Dial(ctx, address, o.Dial)
	if err != nil {
		return false, ""
	}
	defer c.Close()
	return true, c.Server().Server
}

// maxSocketPath is what a socket's path may have, with what listening appends.
const maxSocketPath = 85

func (f *Findings) listenUnix(path string) {
	dir := path[:max(strings.LastIndexByte(path, '/'), 0)]
	info, err := os.Lstat(path)
	switch {
	case len(path) > maxSocketPath:
		f.problem("listen", fmt.Sprintf("the socket's path %s has %d bytes; the system allows about %d", path, len(path), maxSocketPath), "choose a shorter folder, such as /run/engram")
	case err == nil && info.Mode().Type() != fs.ModeSocket:
		f.problem("listen", path+" is no socket", "remove the file, or listen on another path")
	case err == nil && answers(path):
		f.warn("listen", "a server listens at "+path+" already", "use that one, stop it, or listen on another socket")
	case err == nil:
		f.ok("listen", path+" was left by a server that is gone; the next one takes it over")
	case !canMake(dir):
		f.problem("listen", fmt.Sprintf("%s may not make a socket in %s", me(), dir), "make the folder, owned by that user; under systemd RuntimeDirectory=engram does")
	default:
		f.ok("listen", path+" is free")
	}
}

func answers(path string) bool {
	nc, err := net.Dial("unix", path)
	if err == nil {
		nc.Close()
	}
	return err == nil
}

// canMake reports whether files can be made in a folder, or the folder in those above.
func canMake(dir string) bool {
	for {
		if info, err := os.Stat(dir); err == nil {
			return info.IsDir() && unix.Access(dir, unix.W_OK|unix.X_OK) == nil
		} else if !errors.Is(err, fs.ErrNotExist) || dir == "" || dir == "/" {
			return false
		}
		dir = dir[:max(strings.LastIndexByte(dir, '/'), 0)]
		if dir == "" {
			dir = "/"
		}
	}
}

// me names the user of this process.
func me() string { return userName(strconv.Itoa(os.Getuid())) }

func owner(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "another user"
	}
	return userName(strconv.Itoa(int(st.Uid)))
}

func userName(id string) string {
	if u, err := user.LookupId(id); err == nil {
		return "user " + u.Username
	}
	return "user " + id
}
