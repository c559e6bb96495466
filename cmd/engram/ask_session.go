package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/internal/words"
	"github.com/seed-301d4374/engram/mind/knowledge"
	"github.com/seed-301d4374/engram/mind/knowledge/logic"
	"github.com/seed-301d4374/engram/mind/knowledge/rdf"
)

// unfinished reports whether a question goes on in the next line: it is empty, or ends with what something follows.
func unfinished(question string) bool {
	question = strings.TrimSpace(question)
	return question == "" || strings.ContainsAny(question[len(question)-1:], ",;([{|") || strings.HasSuffix(question, "->")
}

// session answers questions that are read line by line, or over several lines: on a terminal with a prompt, what was
// typed before (arrow keys) and completion (Tab), and going on after a mistake.
func (a *asking) session() error {
	stdin, ok := a.cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(stdin.Fd())) {
		return a.script(a.cmd.InOrStdin())
	}
	fmt.Fprintf(a.cmd.OutOrStdout(), "%s; a question per line, Tab completes, Ctrl-C stops a question, halt ends\n", a.facts)
	keys := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{interrupts{stdin}, a.cmd.OutOrStdout()}, "?- ")
	keys.AutoCompleteCallback = a.complete(keys)
	begun := ""
	for {
		line, err := readKeys(stdin, keys)
		question := begun + line
		switch {
		case errors.Is(err, io.EOF) || isHalt(question):
			return nil
		case err != nil:
			return err
		case strings.TrimSpace(line) == "":
			begun = ""
			keys.SetPrompt("?- ")
			continue
		case unfinished(question):
			begun = question + "\n"
			keys.SetPrompt("|  ")
			continue
		}
		begun = ""
		keys.SetPrompt("?- ")
		start := time.Now()
		switch err := a.askUntilInterrupt(question); {
		case engram.CodeOf(err) == engram.Canceled:
			a.cmd.PrintErrln("engram: the question was stopped")
		case err != nil:
			a.cmd.PrintErrf("engram: %s\n", oneLine(err.Error()))
		default:
			a.cmd.PrintErrf("%s\n", words.Duration(time.Since(start)))
		}
	}
}

// script answers the questions of a text.
func (a *asking) script(text io.Reader) error {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	question := ""
	for lines.Scan() {
		question += lines.Text()
		if isHalt(question) {
			return nil
		}
		if unfinished(question) {
			question += "\n"
			continue
		}
		if err := a.ask(a.cmd.Context(), question); err != nil {
			return err
		}
		question = ""
	}
	if strings.TrimSpace(question) != "" && lines.Err() == nil {
		return a.ask(a.cmd.Context(), question)
	}
	return lines.Err()
}

// askUntilInterrupt asks until Ctrl-C: an interrupt ends the question, and not the session, which
// therefore does not hear of the command's context.
func (a *asking) askUntilInterrupt(question string) error {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(a.cmd.Context()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.ask(ctx, question)
}

func isHalt(question string) bool {
	return strings.TrimSuffix(strings.TrimSpace(question), ".") == "halt"
}

// interrupts reads keys; Ctrl-C at the prompt takes the line away, where it would end the session.
type interrupts struct{ io.Reader }

func (i interrupts) Read(p []byte) (int, error) {
	const ctrlC, ctrlU = 3, 21
	n, err := i.Reader.Read(p)
	for j, key := range p[:n] {
		if key == ctrlC {
			p[j] = ctrlU
		}
	}
	return n, err
}

// complete completes the word before the cursor at Tab, or lists what it may become.
func (a *asking) complete(out io.Writer) func(line string, at int, key rune) (string, int, bool) {
	return func(line string, at int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		before, after := string([]rune(line)[:at]), string([]rune(line)[at:])
		from, words := a.names.Complete(a.known(), before)
		if a.question.Language != logic.Prolog {
			words = slices.DeleteFunc(words, func(w string) bool { return strings.HasSuffix(w, "(") })
		}
		if len(words) == 0 {
			return line, at, true
		}
		common := words[0]
		for _, w := range words[1:] {
			for !strings.HasPrefix(w, common) {
				common = common[:len(common)-1]
			}
		}
		common = strings.ToValidUTF8(common, "")
		if len(words) > 1 && len(common) <= len(before)-from {
			fmt.Fprintf(out, "%s\n", strings.Join(words, "  "))
			return line, at, true
		}
		done := before[:from] + common
		return done + after, utf8.RuneCountInString(done), true
	}
}

// known returns what completion knows: what files say, or the subjects that the server has, as far as it
// tells them.
func (a *asking) known() *knowledge.View {
	if a.view != nil {
		return a.view
	}
	a.view = &knowledge.View{Graph: knowledge.NewGraph()}
	q := logic.Question{Language: logic.Prolog, Text: "rdf_subject(S)", Rows: 100_000, Limits: logic.Limits{Time: 2 * time.Second}}
	for row, err := range a.service.Ask(a.cmd.Context(), q) {
		if err != nil { // completion does with what there is
			break
		}
		a.view.Add(rdf.Triple{S: rdf.NewIRI(row.Texts[0]), P: rdf.NewIRI(rdf.NS + "type"), O: rdf.NewIRI(rdf.NSRDFS + "Resource")})
	}
	return a.view
}

// readKeys reads a line from a terminal that gives each key, and leaves the terminal as it was:
// Ctrl-C stops a question.
func readKeys(stdin *os.File, keys *term.Terminal) (string, error) {
	before, err := term.MakeRaw(int(stdin.Fd()))
	if err != nil {
		return "", engram.Errorf(engram.Internal, "", "the terminal: %w", err)
	}
	line, err := keys.ReadLine()
	return line, errors.Join(err, term.Restore(int(stdin.Fd()), before))
}
