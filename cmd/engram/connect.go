package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
)

// connect reaches the memory that the command's flags name.
func connect(cmd *cobra.Command) (*client.Client, error) {
	address, _ := cmd.Flags().GetString("address")
	m, err := client.Connect(cmd.Context(), client.Options{Address: address})
	if address = cmp.Or(address, os.Getenv(client.AddressVariable)); address != "" && errors.Is(err, engram.Unavailable) {
		err = fmt.Errorf("%w; start one there with 'engram serve --listen %s'", err, address)
	}
	if code := engram.CodeOf(err); address != "" && (code == engram.Invalid || code == engram.Unsupported) {
		err = usagef("--address: %w", err)
	}
	return m, err
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
