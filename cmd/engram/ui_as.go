package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/backbone"
)

// showAs shows the page as the identity of --as to a browser of this computer, until the
// command is interrupted.
func showAs(cmd *cobra.Command, q url.Values) error {
	ctx := cmd.Context()
	as, _ := cmd.Flags().GetString("as")
	if err := access.CheckIdentity(as); err != nil {
		return usagef("--as: %w", err)
	}
	listen, _ := cmd.Flags().GetString("listen")
	if err := checkLoopback(listen); err != nil {
		return err
	}
	c, err := dialForPage(cmd)
	if err != nil {
		return err
	}
	defer c.Close()
	page, err := c.Page(ctx, access.Identity(as))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return engram.Errorf(engram.Unavailable, listen, "the page cannot be shown here; choose another place with --listen, such as 127.0.0.1:0: %w", err)
	}
	sessions := secure.NewSessions(nil)
	srv := &http.Server{
		Handler: sessions.Handler(secure.Web{}, page), ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), // what clients do wrong
	}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	address := pageAt("http://"+l.Addr().String(), q) + "#token=" + sessions.Token()
	fmt.Fprintln(cmd.OutOrStdout(), address)
	cmd.PrintErrf("shown as %s until Ctrl-C; the address is good once, for %v\n", as, secure.TokenLife)
	if no, _ := cmd.Flags().GetBool("no-open"); !no {
		cmd.PrintErrln("if the browser shows an empty page or no file, as one from a snap does, paste the address there")
		remove, err := openUnseen(address)
		defer remove()
		if err != nil {
			cmd.PrintErrln(err)
		}
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return engram.Errorf(engram.Unavailable, listen, "the page cannot be shown any longer: %w", err)
	}
	return nil
}

// loopbackPage is where browsers reach the page that is shown as an identity.
const loopbackPage = "127.0.0.1:7412"

// checkLoopback returns an error if browsers on other computers would reach an address: what
// they send could be heard.
func checkLoopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return usagef("--listen %s: write an address and a port, such as %s", listen, loopbackPage)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return usagef("--listen %s: only browsers of this computer may reach it, such as %s; on another run this command there, with --address of the robot", listen, loopbackPage)
	}
	return nil
}

// dialForPage reaches the server that the flags name, itself, as who they say.
func dialForPage(cmd *cobra.Command) (*rpc.Client, error) {
	named := namedAddress(cmd)
	if onBackbone(named) {
		return nil, usagef("--address %s: that is the backbone, which has no page; name one server", backbone.Redacted(named))
	}
	dial, err := dialOptions(cmd)
	if err != nil {
		return nil, err
	}
	var first error
	for _, address := range placesOf(named) {
		c, err := rpc.Dial(cmd.Context(), address, dial)
		if err == nil {
			return c, nil
		}
		if first == nil {
			first = err
		}
	}
	if named != "" {
		first = fmt.Errorf("%w; %s", first, unreachedHint(first, named, dial.Credentials != nil))
	}
	return nil, first
}

// openUnseen shows an address that holds a secret in the user's browser, by way of a file
// that only the user may read: all users of a computer see what programs are called with.
// remove removes it, which it does by itself when the secret is worth nothing any more.
func openUnseen(address string) (remove func(), err error) {
	f, err := os.CreateTemp("", "engram-*.html")
	if err != nil {
		return func() {}, engram.Errorf(engram.Unavailable, "", "no browser can be told the address; type it into one: %w", err)
	}
	timer := time.AfterFunc(secure.TokenLife, func() { os.Remove(f.Name()) })
	remove = func() {
		timer.Stop()
		os.Remove(f.Name())
	}
	_, err = fmt.Fprintf(f, "<!doctype html><title>Engram</title><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", html.EscapeString(address))
	if err := errors.Join(err, f.Close()); err != nil {
		return remove, engram.Errorf(engram.Unavailable, f.Name(), "no browser can be told the address; type it into one: %w", err)
	}
	return remove, openBrowser(f.Name())
}
