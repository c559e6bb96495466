package main

import (
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/fleet/backbone"
)

// logSettings say how the server logs.
type logSettings struct {
	json  bool
	level slog.Level
	to    io.Writer // nil means what package slog does by default
}

func addLogFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("log-format", "text", "how to log to stderr: text, or json with one object per line")
	f.String("log-level", "info", "log from this level on: debug, info, warn, error")
}

func readLogSettings(cmd *cobra.Command) (s logSettings, err error) {
	f := cmd.Flags()
	var wrong []error
	format, _ := f.GetString("log-format")
	if format != "text" && format != "json" {
		wrong = append(wrong, usagef("--log-format %s: text or json", format))
	}
	level, _ := f.GetString("log-level")
	if err := s.level.UnmarshalText([]byte(level)); err != nil || strings.ContainsAny(level, "+-") {
		wrong = append(wrong, usagef("--log-level %s: debug, info, warn or error", level))
	}
	s.json, s.to = format == "json", cmd.ErrOrStderr()
	return s, errors.Join(wrong...)
}

// logger returns the logger that the settings ask for. Secrets in URLs are not logged.
func (s logSettings) logger() *slog.Logger {
	if s.to == nil {
		return slog.Default()
	}
	o := &slog.HandlerOptions{Level: s.level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(withoutSecrets(v))
		case error:
			a.Value = slog.StringValue(withoutSecrets(v.Error()))
		}
		return a
	}}
	if s.json {
		return slog.New(slog.NewJSONHandler(s.to, o))
	}
	return slog.New(slog.NewTextHandler(s.to, o))
}

var (
	urls     = regexp.MustCompile(`\S*://\S+`)
	nkeySeed = regexp.MustCompile(`\bS[UAONCX][A-Z2-7]{56}\b`)
	pemKey   = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// withoutSecrets returns a text without passwords and tokens in URLs, seeds of NATS
// identities and private keys.
func withoutSecrets(text string) string {
	text = urls.ReplaceAllStringFunc(text, backbone.Redacted)
	text = nkeySeed.ReplaceAllString(text, "xxxxx")
	return pemKey.ReplaceAllString(text, "(private key)")
}
