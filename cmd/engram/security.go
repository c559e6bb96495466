package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/core/secure"
	"github.com/seed-301d4374/engram/node"
)

// addSecurityFlags adds the flags that say who may do what.
func addSecurityFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("credentials", "", "this server's credentials ('engram auth add --server NAME'): whoever connects over TCP\nor the backbone must have some of the same authority (default: no TLS)")
	f.StringArray("allow-origin", nil, "let web pages of this origin call the server, such as https://studio.example; * is every page; may be repeated\n(default: pages of the server's own address only)")
	f.StringArray("allow-host", nil, "let clients over TCP call the server by this name, too; * is any name; may be repeated\n(default: its addresses, localhost and this computer's name)")
	f.String("access", "", "the rules of who may do what ('engram auth rule'), read again when they change\n(default: who can connect may do everything)")
}

// readSecuritySettings reads the flags and looks whether the files are right.
func readSecuritySettings(cmd *cobra.Command) (s node.Security, err error) {
	s.Credentials, _ = cmd.Flags().GetString("credentials")
	s.Access, _ = cmd.Flags().GetString("access")
	var wrong []error
	s.Web.Origins, _ = cmd.Flags().GetStringArray("allow-origin")
	s.Web.Hosts, _ = cmd.Flags().GetStringArray("allow-host")
	for _, origin := range s.Web.Origins {
		if err := secure.CheckOrigin(origin); err != nil {
			wrong = append(wrong, usagef("--allow-origin %s: %w", origin, err))
		}
	}
	for _, host := range s.Web.Hosts {
		if host == "" || strings.ContainsAny(host, "/ ") || strings.Contains(host, ":") {
			wrong = append(wrong, usagef("--allow-host %s: write a name without a port, such as robot1.lab", host))
		}
	}
	if s.Credentials != "" {
		store, err := credentials.Load(s.Credentials, nil)
		if err == nil {
			_, err = store.ServerConfig(nil)
		}
		if err != nil {
			wrong = append(wrong, usagef("--credentials: %w", err))
		}
	}
	if s.Access != "" {
		text, err := access.ReadFile(s.Access, false)
		if err == nil {
			_, err = access.Parse(text)
		}
		if err != nil {
			wrong = append(wrong, usagef("--access: %w", inFile(s.Access, err)))
		}
	}
	return s, errors.Join(wrong...)
}
