package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/skill"
	"github.com/seed-301d4374/engram/mind/skill/script"
)

func newSkillProvide() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "provide FILE…",
		Short: "Offer skills that are written in YAML, in place of a robot's",
		Long: `Offers the skills of providers that files describe, until it is interrupted: it prints a line when
they are there, and says when they are not any more. What a skill does is a list of steps; 'go doc
github.com/seed-301d4374/engram/mind/skill/script' lists them, and examples/skill/arm.yaml has some.
^C has what is executed stop, and waits until it has; a second ^C does not wait.`,
		Example:           "  engram skill provide arm.yaml\n  engram skill provide --check arm.yaml base.yaml",
		Args:              positional(cobra.MinimumNArgs(1)),
		ValidArgsFunction: completeYAML,
	}
	cmd.Flags().Bool("check", false, "only read the files, and say what they offer or what is wrong")
	cmd.RunE = skillProvide
	return cmd
}

// completeYAML completes files of YAML.
func completeYAML(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func skillProvide(cmd *cobra.Command, args []string) error {
	all, err := readProviders(args)
	if err != nil {
		return err
	}
	if check, _ := cmd.Flags().GetBool("check"); check {
		for _, p := range all {
			if err := printLine(cmd.OutOrStdout(), span{text: visible(offered(p))}); err != nil {
				return err
			}
		}
		return nil
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	return provide(cmd, m, all)
}

// readProviders reads the providers of files, each name once. The error tells of all files.
func readProviders(files []string) (all []*script.Provider, err error) {
	var wrong []error
	from := map[string]string{}
	for _, file := range files {
		text, err := readAtMost(file, script.MaxFile)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		providers, err := script.Read(file, text)
		if err != nil {
			wrong = append(wrong, err)
		}
		for _, p := range providers {
			if other, twice := from[p.Name]; twice {
				wrong = append(wrong, engram.Errorf(engram.Invalid, file, "the provider %s is in %s, too", p.Name, other))
			}
			from[p.Name] = file
			all = append(all, p)
		}
	}
	var each []error // is told on a line of its own
	for _, err := range apart(errors.Join(wrong...)) {
		each = append(each, usagef("%w", err))
	}
	return all, errors.Join(each...)
}

// readAtMost reads a file, of which one byte more than so many tells that it is too large.
func readAtMost(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// offered says what a provider offers.
func offered(p *script.Provider) string { return p.Name + " offers " + listed(p.Names(), "and") }

// provide offers skills until the command is interrupted, or a provider fails.
func provide(cmd *cobra.Command, m *client.Client, all []*script.Provider) error {
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	there := &presence{cmd: cmd, state: make([]error, len(all))}
	var lines []string
	for i, p := range all {
		lines = append(lines, offered(p))
		there.state[i] = errNotYet
	}
	there.line = strings.Join(lines, "; ")
	var running sync.WaitGroup
	for i, p := range all {
		running.Go(func() {
			err := p.Provide(ctx, m, skill.ProvideOptions{Tell: func(err error) { there.tell(i, p.Name, err) }})
			if err != nil {
				cancel(err)
			}
		})
	}
	running.Wait()
	if cmd.Context().Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// errNotYet is the state of a provider of which nothing is known.
var errNotYet = errors.New("it is not there yet")

// presence tells which providers are there.
type presence struct {
	cmd  *cobra.Command
	line string // when all are

	mu    sync.Mutex
	state []error // nil is that it is there
	told  bool    // the line
}

// tell tells that a provider is there, or why not.
func (p *presence) tell(i int, name string, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.state[i]
	p.state[i] = why
	switch {
	case why != nil && (before == nil || before == errNotYet):
		p.cmd.PrintErrf("engram: %s is not there: %s\n", visible(name), visible(why.Error()))
	case why == nil && before != nil && p.told:
		p.cmd.PrintErrf("engram: %s is there again\n", visible(name))
	}
	for _, s := range p.state {
		if s != nil {
			return
		}
	}
	if !p.told {
		p.told = true
		_ = printLine(p.cmd.OutOrStdout(), span{text: visible(p.line)}) // nobody reads it
	}
}
