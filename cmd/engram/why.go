package main

import (
	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/mind/link/reason"
)

func newWhy() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why [ID]",
		Short: "Say in a few sentences why something is so",
		Long: `Says why an entity's newest snapshot, a snapshot or an activity is as it is: why a skill was
run, what it led to and what went wrong; in what an object was seen, what holds it, and what
the robot did just then. It words what 'engram trace' finds, and invents nothing: --links
lists what each sentence rests on.

With --listen it answers questions that are asked by speech, until interrupted: commands in
Speech/Command with the intent "why", or without an intent and with words such as 'why did
you move to the table?'. Each answer is written to Speech/Answer, with links to the question,
to what that was about and to what the words rest on.`,
		Example: `  engram why Object/Instance/Simulation/cup
  engram why Skill/Execution/Arm/Grasp-9bkkzr8qo0vu --links
  engram why --listen --since now-1m`,
		Args:              positional(cobra.MaximumNArgs(1)),
		ValidArgsFunction: completeIDs,
	}
	f := cmd.Flags()
	f.Bool("links", false, "below each sentence, the IDs of what it rests on")
	f.String("as-of", "", "by what the memory knew at this time of arrival")
	f.Bool("listen", false, "answer questions that are asked by speech")
	f.String("since", "", "with --listen, begin with questions from this time on: absolute or now-10s")
	f.Int("count", 0, "with --listen, end after N questions")
	f.Duration("for", 0, "with --listen, end after this time")
	addOutputFormats(cmd, []string{"text", "json", "ndjson", "yaml"})
	printing(cmd, why)
	return cmd
}

// whyJSON is an answer as programs read it.
type whyJSON struct {
	Of        string         `json:"of"`
	Sentences []sentenceJSON `json:"sentences"`
	Cut       int            `json:"cut,omitempty"`
}

type sentenceJSON struct {
	Text  string   `json:"text"`
	Links []string `json:"links"`
}

func why(cmd *cobra.Command, args []string, format string) error {
	if listens, _ := cmd.Flags().GetBool("listen"); listens {
		if len(args) > 0 {
			return usagef("%q is too much: --listen answers what is asked", args[0])
		}
		return whyAsked(cmd, format)
	}
	if len(args) == 0 {
		return usagef("ID is missing: engram why ID, or engram why --listen")
	}
	for _, name := range []string{"since", "count", "for"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s goes with --listen", name)
		}
	}
	asOf, err := belief(cmd)
	if err != nil {
		return err
	}
	var a *reason.Answer
	err = aboutOne(cmd, args[0], func(m *client.Client, id engram.ID) error {
		a, err = reason.New(m, m.Robot()).Why(cmd.Context(), id, asOf)
		return err
	})
	if err != nil {
		return err
	}
	if format != "text" {
		return printObject(cmd.OutOrStdout(), format, whyObject(a))
	}
	links, _ := cmd.Flags().GetBool("links")
	if !links {
		return printFolded(cmd.OutOrStdout(), nil, span{text: visible(a.Text())})
	}
	for _, s := range a.Sentences {
		if err := printFolded(cmd.OutOrStdout(), nil, span{text: visible(s.Text)}); err != nil {
			return err
		}
		for _, id := range s.Links {
			if err := printLine(cmd.OutOrStdout(), span{text: "  "}, span{faint, visible(id.String())}); err != nil {
				return err
			}
		}
	}
	return nil
}

func whyObject(a *reason.Answer) whyJSON {
	o := whyJSON{Of: a.Of.String(), Cut: a.Cut}
	for _, s := range a.Sentences {
		j := sentenceJSON{Text: s.Text, Links: []string{}}
		for _, id := range s.Links {
			j.Links = append(j.Links, id.String())
		}
		o.Sentences = append(o.Sentences, j)
	}
	return o
}
