package main

import (
	"cmp"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/mns"
)

// views are the views of the page, by the names that they have in its address.
var views = []string{"scene", "world", "images", "plots", "table", "diff"}

func newUI() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ui [ID]",
		Short: "Show the memory in a browser",
		Long: `Opens the page of the memory server in a browser, and prints its address: the tree of
all that is remembered, live and at any time of the past, with what led to it.

It is the page of the server at --address, also where that is the near end of a tunnel.
An ID is selected there; that of a snapshot opens the page at its time. If another server
hosts its memory, that one's page is opened.

A browser has no credentials. If the server requires them, --as shows the page as an
identity: until Ctrl-C this program is a proxy between the browser and the server. It
prints an address with a token, without which it lets nobody in. The token can be used
once, within a minute. The proxy needs the identity's --credentials, or those of one that
may forward, such as the user whom the server runs as over its Unix socket.`,
		Example: `  engram ui
  engram ui --as planner --credentials planner.credentials --address https://robot1:7411
  engram ui Object/Instance/Simulation/cup --at -10s
  engram ui --view diff --no-open Object/Instance/Simulation/cup`,
		Args: positional(cobra.MaximumNArgs(1)),
	}
	f := cmd.Flags()
	f.String("at", "", "open the page at this time, such as 14:00 or -10s; live otherwise")
	f.String("view", "", "open this view: "+strings.Join(views, ", "))
	_ = cmd.RegisterFlagCompletionFunc("view", cobra.FixedCompletions(views, cobra.ShellCompDirectiveNoFileComp))
	f.Bool("no-open", false, "print the address only")
	f.String("as", "", "show the page as this identity, until Ctrl-C")
	f.String("listen", loopbackPage, "with --as: where browsers of this computer reach the page")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := url.Values{}
		of := ""
		if len(args) > 0 {
			id, err := engram.Parse(args[0])
			if err != nil {
				return err
			}
			of = id.Memory()
			if at, ok := id.Time(); ok {
				q.Set("at", at.Std().UTC().Format(time.RFC3339Nano))
				id = id.Truncate(engram.LevelEntity)
			}
			q.Set("sel", id.String())
		}
		if text, _ := f.GetString("at"); text != "" {
			arg, err := parseTimeArg(text)
			if err != nil {
				return usagef("--at: %v", err)
			}
			now := engram.Now()
			at := arg.resolve(now, now)
			q.Set("at", at.Std().UTC().Format(time.RFC3339Nano))
		}
		if view, _ := f.GetString("view"); view != "" {
			if !slices.Contains(views, view) {
				return usagef("--view: there is no view %q; there are %s", view, strings.Join(views, ", "))
			}
			q.Set("view", view)
		}
		if f.Changed("as") {
			return showAs(cmd, q)
		}
		server, err := serverOfPage(cmd, of)
		if err != nil {
			return err
		}
		page := pageAt(server, q)
		fmt.Fprintln(cmd.OutOrStdout(), page)
		if no, _ := f.GetBool("no-open"); no {
			return nil
		}
		return openBrowser(page)
	}
	return cmd
}

// serverOfPage returns where a browser reaches the server that the flags name, or the one that hosts a memory if that one
// has it not.
func serverOfPage(cmd *cobra.Command, memory string) (string, error) {
	m, err := connect(cmd)
	if err != nil {
		return "", err
	}
	defer m.Close()
	entries, err := m.Names().List(cmd.Context())
	if err != nil {
		return "", err
	}
	if onBackbone(namedAddress(cmd)) {
		return advertised(entries, hostOf(entries, memory, ""))
	}
	c, err := dialForPage(cmd)
	if err != nil {
		return "", err
	}
	defer c.Close()
	server := c.Server().Server
	host := hostOf(entries, memory, server)
	if address := c.Web(); host == server && address != "" {
		return letIn(address)
	}
	return advertised(entries, host)
}

// hostOf returns the server that hosts a memory: the one that was asked, if that has a copy or nobody is known to.
func hostOf(entries []mns.Entry, memory, asked string) string {
	for _, e := range entries {
		if e.Memory == memory && e.Server != "" && !slices.Contains(e.Holders(), asked) {
			return e.Server
		}
	}
	return asked
}

// advertised returns where a server says that browsers reach it; "" is any server. An address of this computer comes first.
func advertised(entries []mns.Entry, server string) (string, error) {
	best, rank := "", 0
	for _, e := range entries {
		if server != "" && e.Server != server {
			continue
		}
		for _, a := range e.Addresses {
			r := 0
			switch {
			case strings.HasPrefix(a, "http://127.0.0.1:"):
				r = 3
			case strings.HasPrefix(a, "http://"):
				r = 2
			case strings.HasPrefix(a, "https://"):
				r = 1
			}
			if r > rank {
				best, rank = a, r
			}
		}
	}
	if best == "" {
		return "", engram.Errorf(engram.Unavailable, server, "the memory server listens at no TCP address, so no browser can reach it; start it with --listen 127.0.0.1:7411")
	}
	return letIn(best)
}

// letIn returns an address if its server lets browsers in.
func letIn(address string) (string, error) {
	if strings.HasPrefix(address, "https://") {
		return "", engram.Errorf(engram.Forbidden, address, "this server wants to know who connects, and a browser has no credentials; run 'engram ui --as NAME'")
	}
	return address, nil
}

// pageAt returns the address of a view of the page of a server.
func pageAt(server string, q url.Values) string {
	page := server + "/"
	if len(q) > 0 {
		page += "?" + q.Encode()
	}
	return page
}

// openBrowser shows a page in the user's browser.
func openBrowser(page string) error {
	program := map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS]
	program = cmp.Or(program, "xdg-open")
	if _, err := exec.LookPath(program); err != nil {
		return engram.Errorf(engram.Unavailable, program, "no browser can be started from here; type the address above into one")
	}
	cmd := exec.Command(program, page)
	if err := cmd.Start(); err != nil {
		return engram.Errorf(engram.Unavailable, program, "no browser can be started from here; type the address above into one: %w", err)
	}
	go func() { _ = cmd.Wait() }() // it says itself what it could not do
	return nil
}
