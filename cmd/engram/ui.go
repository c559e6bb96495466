package main

import (
	"cmp"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/mns"
)

func newUI() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ui [ID]",
		Short: "Show the memory in a browser",
		Long: `Opens the page of the memory server in a browser, and prints its address: the tree of
all that is remembered, live and at any time of the past, with what led to it.

An ID is selected there; that of a snapshot opens the page at its time.

A browser has no credentials. Where the server asks who somebody is, --as shows the page
as an identity: this program stands between the browser and the server until Ctrl-C, and
lets in only who shows the token in the address that it prints, which is good once, for a
minute. It needs the identity's --credentials, or those of one that may forward, such as
the user whom the server runs as over its Unix socket.`,
		Example: `  engram ui
  engram ui --as planner --credentials planner.credentials --address https://robot1:7411
  engram ui Object/Instance/Simulation/cup --at -10s
  engram ui --view trace --no-open Object/Instance/Simulation/cup`,
		Args: positional(cobra.MaximumNArgs(1)),
	}
	f := cmd.Flags()
	f.String("at", "", "open the page at this time, such as 14:00 or -10s; live otherwise")
	f.String("view", "", "open this view: scene, table, trace, diff …")
	f.Bool("no-open", false, "print the address only")
	f.String("as", "", "show the page as this identity, until Ctrl-C")
	f.String("listen", "127.0.0.1:7412", "with --as: where browsers of this computer reach the page")
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
			q.Set("view", view)
		}
		if f.Changed("as") {
			return showAs(cmd, q)
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		entries, err := m.Names().List(cmd.Context())
		if err != nil {
			return err
		}
		page, err := pageOf(entries, of)
		if err != nil {
			return err
		}
		page = pageAt(page, q)
		fmt.Fprintln(cmd.OutOrStdout(), page)
		if no, _ := f.GetBool("no-open"); no {
			return nil
		}
		return openBrowser(page)
	}
	return cmd
}

// pageOf returns the address of the page that shows a memory, or that of any server; best one of this computer.
func pageOf(entries []mns.Entry, memory string) (string, error) {
	best, rank := "", 0
	for _, e := range entries {
		for _, a := range e.Addresses {
			r := 0
			switch {
			case strings.HasPrefix(a, "http://127.0.0.1:"):
				r = 3
			case strings.HasPrefix(a, "http://"), strings.HasPrefix(a, "https://"):
				r = 2
			default:
				continue
			}
			if e.Memory == memory {
				r += 10
			}
			if r > rank {
				best, rank = a, r
			}
		}
	}
	if best == "" {
		return "", engram.Errorf(engram.Unavailable, "", "the memory server listens at no TCP address, so no browser can reach it; start it with --listen 127.0.0.1:7411")
	}
	return best, nil
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
	return exec.Command(program, page).Start()
}
