package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mcp"
)

func newMCP() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an agent use the memory, by the Model Context Protocol",
		Long: `Answers an agent, such as Claude Code or Codex, over standard input and output, or with --listen
over HTTP: it lists, gets, looks back, searches, asks in logic, traces causes, and reads the world, poses
and skills, with what the identity of --credentials may see. docs/agents.md shows how agents are told of it.

An agent only reads, unless it is allowed more: --allow-skills=Say,LookAt lets it run and stop these skills,
--allow-skills all; --allow-commit=GeneralPurpose/Notes/agent lets it write what the pattern names, and
--allow-commit all but skills. What the identity may not do stays forbidden.

The memory is reached when the agent asks first, so that this may be started before the robot.

With --listen an agent shows the token that is printed, as "Authorization: Bearer TOKEN"; --token-file keeps
it for the next start. Only programs of this computer reach it, and no web pages.`,
		Example: `  engram mcp
  engram mcp --credentials planner.credentials --address https://robot1:7411 --allow-skills=Say,LookAt
  engram mcp --listen 127.0.0.1:7413 --token-file ~/.config/engram/mcp.token
  claude mcp add engram -- engram mcp`,
		Args: positional(cobra.NoArgs),
	}
	f := cmd.Flags()
	f.StringSlice("allow-skills", nil, "let the agent run and stop these skills; without names all")
	f.StringArray("allow-commit", nil, "let the agent write the entities of this pattern; without one all; may be repeated")
	f.Lookup("allow-skills").NoOptDefVal = "*"
	f.Lookup("allow-commit").NoOptDefVal = "*"
	f.String("caller", "", "who asks for skills (default: the user's name)")
	f.String("listen", "", "answer over HTTP here, such as 127.0.0.1:7413")
	f.String("token-file", "", "with --listen: the file of the token; it is made if it is not there")
	cmd.RunE = serveAgents
	return cmd
}

func serveAgents(cmd *cobra.Command, _ []string) error {
	f := cmd.Flags()
	o := mcp.Options{
		Connect: func(context.Context) (*client.Client, error) { return connect(cmd) },
		Version: versionOf().String(), Caller: skillCaller(cmd),
	}
	o.Skills, _ = f.GetStringSlice("allow-skills")
	patterns, _ := f.GetStringArray("allow-commit")
	for _, text := range patterns {
		p, err := engram.ParsePattern(text)
		if err != nil {
			return usagef("--allow-commit: %w", err)
		}
		o.Commit = append(o.Commit, p)
	}
	listen, _ := f.GetString("listen")
	file, _ := f.GetString("token-file")
	if file != "" && listen == "" {
		return usagef("--token-file: a token is for --listen; over standard input and output there is none")
	}
	s := mcp.New(o)
	if listen != "" {
		return errors.Join(listenForAgents(cmd, s, listen, file), s.Close())
	}
	err := s.Run(cmd.Context(), &sdk.StdioTransport{})
	if err != nil && (cmd.Context().Err() != nil || errors.Is(err, io.EOF)) {
		err = nil // the agent has ended, or this is to end
	}
	return errors.Join(err, s.Close())
}

// listenForAgents answers over HTTP until the command is interrupted.
func listenForAgents(cmd *cobra.Command, s *mcp.Server, listen, file string) error {
	if err := checkLoopback(listen, "agents", "127.0.0.1:7413"); err != nil {
		return err
	}
	token, err := tokenOf(file)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return engram.Errorf(engram.Unavailable, listen, "agents cannot be answered here; choose another place with --listen, such as 127.0.0.1:0: %w", err)
	}
	srv := &http.Server{
		Handler: s.Handler(token), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // what clients do wrong
	}
	defer context.AfterFunc(cmd.Context(), func() { srv.Close() })()
	cmd.Printf("http://%s%s\n", l.Addr(), mcp.Path)
	if file == "" {
		cmd.Printf("Authorization: Bearer %s\n", token)
	} else {
		cmd.Printf("Authorization: Bearer, with the token in %s\n", visible(file))
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return engram.Errorf(engram.Unavailable, listen, "agents are not answered any longer: %w", err)
	}
	return nil
}

// tokenOf returns the token in a file, which is made if it is not there; without a file a new one.
func tokenOf(file string) (string, error) {
	token := rand.Text()
	if file == "" {
		return token, nil
	}
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
	}
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
		return "", engram.Errorf(engram.Forbidden, file, "others may read this token; 'chmod 600' it, or remove it and have a new one made")
	}
	text := string(bytes.TrimSpace(b))
	const least = 20 // letters
	if len(text) < least {
		return "", engram.Errorf(engram.Invalid, file, "a token has at least %d letters; remove the file and have a new one made", least)
	}
	return text, nil
}
