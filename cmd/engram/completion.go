package main

import (
	"bytes"
	"context"
	_ "embed"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// The completions of cobra evaluate what was typed, which fails within quotes, and
// compare candidates with it, which fails where names need quotes. These hand what was
// typed to typedCommand and leave the quoting of the answer to the shell.
var (
	//go:embed completion/engram.bash
	bashCompletion string
	//go:embed completion/engram.zsh
	zshCompletion string
	//go:embed completion/engram.fish
	fishCompletion string
)

// typedCommand is the word by which the scripts ask for completions. The words after
// it are those of a command line, each as it was typed, the last to be completed.
const typedCommand = "__typed"

// addCompletions gives the command completion its scripts.
func addCompletions(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	c, _, err := root.Find([]string{"completion"})
	if err != nil || c == root {
		return
	}
	for _, sub := range c.Commands() {
		script := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[sub.Name()]
		if script == "" {
			continue
		}
		sub.ResetFlags()
		sub.RunE = func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), script)
			return err
		}
	}
}

// completeTyped prints the completions of a command line as it was typed.
func completeTyped(ctx context.Context, typed []string, stdout io.Writer) error {
	words, last := []string{cobra.ShellCompRequestCmd}, ""
	for _, word := range typed {
		words = append(words, unquote(word))
		last = word
	}
	root := newRoot()
	root.SetArgs(words)
	var answer bytes.Buffer
	root.SetOut(&answer)
	root.SetErr(io.Discard)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	want, before, flag := unquote(last), beforeBreak(last, os.Getenv("ENGRAM_WORDBREAKS")), ""
	if name, value, ok := strings.Cut(want, "="); ok && strings.HasPrefix(name, "-") { // values come without their flag
		flag, want = name+"=", value
	}
	for line := range strings.Lines(answer.String()) {
		if !strings.HasPrefix(line, ":") {
			if !strings.HasPrefix(line, want) {
				continue
			}
			line = strings.TrimPrefix(flag+line, before)
		}
		if _, err := io.WriteString(stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// unquote returns a word of a shell without its quotes and backslashes. A quote that is
// not closed yet ends with the word.
func unquote(word string) string {
	var out strings.Builder
	quote := byte(0)
	for i := 0; i < len(word); i++ {
		c := word[i]
		switch {
		case quote == '\'' && c == quote, quote == '"' && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == '\\' && quote != '\'' && i+1 < len(word):
			if quote == '"' && !strings.ContainsRune("$`\"\\\n", rune(word[i+1])) {
				out.WriteByte(c)
				continue
			}
			i++
			out.WriteByte(word[i])
		case c == '\\' && quote == 0: // nothing follows yet
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// beforeBreak returns what of a typed word the shell has behind it: bash begins anew
// after each colon that is not in quotes, and replaces only what follows.
func beforeBreak(word, breaks string) string {
	if strings.HasPrefix(word, "'") || strings.HasPrefix(word, `"`) {
		return ""
	}
	for i := len(word) - 1; i >= 0; i-- {
		if (word[i] == ':' || word[i] == '=') && strings.IndexByte(breaks, word[i]) >= 0 && (i == 0 || word[i-1] != '\\') {
			return unquote(word[:i+1])
		}
	}
	return ""
}
