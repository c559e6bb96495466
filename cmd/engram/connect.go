package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	_ "github.com/seed-301d4374/engram/client/backbone" // --address nats://…
	"github.com/seed-301d4374/engram/edge/transport/rpc"
)

// connect reaches the memory that the command's flags name.
func connect(cmd *cobra.Command) (*client.Client, error) {
	address, file := namedAddress(cmd), namedCredentials(cmd)
	m, err := client.Connect(cmd.Context(), client.Options{Address: address, Credentials: file})
	if address != "" && (errors.Is(err, engram.Unavailable) || onBackbone(address) && errors.Is(err, engram.Forbidden)) {
		if hint := unreachedHint(err, address, file != ""); hint != "" {
			err = fmt.Errorf("%w; %s", err, hint)
		}
	}
	if code := engram.CodeOf(err); address != "" && (code == engram.Invalid || code == engram.Unsupported) {
		err = usagef("--address: %w", err)
	}
	return m, err
}

// namedAddress returns where the memory is, as --address or the environment says; "" if
// neither does.
func namedAddress(cmd *cobra.Command) string {
	address, _ := cmd.Flags().GetString("address")
	return cmp.Or(address, os.Getenv(client.AddressVariable))
}

// placesOf returns where a server is looked for: at the address that is named, or at the
// usual places.
func placesOf(named string) []string {
	if named == "" {
		return rpc.DefaultAddresses()
	}
	return []string{named}
}

// namedCredentials returns the file of credentials that --credentials or the environment
// names; "" if neither does.
func namedCredentials(cmd *cobra.Command) string {
	file, _ := cmd.Flags().GetString("credentials")
	return cmp.Or(file, os.Getenv(client.CredentialsVariable))
}

// onBackbone reports whether an address is that of a backbone, not of a server.
func onBackbone(address string) bool {
	return strings.HasPrefix(address, "nats://") || strings.HasPrefix(address, "tls://")
}

// unreachedHint says what to do where nothing answers at an address, or not as a memory
// server does.
func unreachedHint(err error, address string, credentials bool) string {
	text := err.Error()
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	}
	switch {
	case has("EOF", "reset by peer", "x509:") && !credentials:
		return "if the server there has --credentials, say who you are with --credentials FILE of 'engram auth add'"
	case has("EOF", "reset by peer"):
		return "'engram doctor' says more"
	case onBackbone(address) && has("does not let this program in") && credentials:
		return "a backbone lets in only servers and who may read everything; connect to a server instead"
	case onBackbone(address) && has("does not let this program in"):
		return "say who you are with --credentials FILE, or in the URL"
	case onBackbone(address):
		return "" // it says what to do itself
	case has("name system"):
		return "'engram health' says more"
	}
	return fmt.Sprintf("start one there with 'engram serve --listen %s'", address)
}

// completeIDs completes an ID by asking the server what lies one level below what
// was typed so far.
func completeIDs(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	m, err := connect(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	var parent engram.Pattern
	cut := 0
	for i := 0; i < len(typed); i++ {
		switch typed[i] {
		case '\\':
			i++
		case '/':
			cut = i
		}
	}
	if cut > 0 {
		if parent, err = engram.ParsePattern(typed[:cut]); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	level := engram.Level(len(parent.Levels)) + 1
	if level > engram.LevelEntity {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	nodes, err := m.Stats(cmd.Context(), parent, level)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, s := range nodes {
		if id := s.ID.String(); s.ID.Level() == level && strings.HasPrefix(id, typed) {
			if level < engram.LevelEntity {
				id += "/"
			}
			found = append(found, id)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
