package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// agent is a program of the scripts: agent ARG… -- TOOL JSON… runs 'engram mcp ARG…', or reaches the URL that ARG is with
// the token in $TOKEN, calls tools, and prints what they answer; an error of a tool on the error stream. The tool "tools"
// lists the tools, and "read" reads the resource of a URI.
func agent() {
	if err := actAsAgent(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func actAsAgent(args []string) error {
	at := slices.Index(args, "--")
	if at < 0 || (len(args)-at)%2 == 0 {
		return fmt.Errorf("usage: agent ARG… -- TOOL JSON…")
	}
	how, calls := args[:at], args[at+1:]
	ctx := context.Background()
	engram := exec.Command("engram", append([]string{"mcp"}, how...)...)
	engram.Stderr = os.Stderr
	var over sdk.Transport = &sdk.CommandTransport{Command: engram}
	if len(how) == 1 && strings.HasPrefix(how[0], "http") {
		over = &sdk.StreamableClientTransport{Endpoint: how[0], HTTPClient: &http.Client{Transport: bearing{}}, DisableStandaloneSSE: true}
	}
	s, err := sdk.NewClient(&sdk.Implementation{Name: "script"}, nil).Connect(ctx, over, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	for ; len(calls) > 0; calls = calls[2:] {
		if err := callTool(ctx, s, calls[0], calls[1]); err != nil {
			return err
		}
	}
	return nil
}

// bearing shows the token in $TOKEN.
type bearing struct{}

func (bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	return http.DefaultTransport.RoundTrip(r)
}

func callTool(ctx context.Context, s *sdk.ClientSession, name, text string) error {
	switch name {
	case "tools":
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			fmt.Println(tool.Name)
		}
		return nil
	case "read":
		r, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: text})
		if err != nil {
			return err
		}
		for _, c := range r.Contents {
			fmt.Println(c.MIMEType, len(c.Blob), c.Text)
		}
		return nil
	}
	r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(text)})
	if err != nil {
		return err
	}
	out := os.Stdout
	if r.IsError {
		out = os.Stderr
	}
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			fmt.Fprintln(out, c.Text)
		case *sdk.ImageContent:
			fmt.Fprintln(out, c.MIMEType, len(c.Data))
		case *sdk.ResourceLink:
			fmt.Fprintln(out, c.URI)
		}
	}
	return nil
}
