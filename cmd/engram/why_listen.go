package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/mind/link/reason"
)

// replyJSON is what became of a question, as programs read it.
type replyJSON struct {
	Question string   `json:"question"`
	Asked    string   `json:"asked"`
	Answer   string   `json:"answer,omitempty"`
	Text     string   `json:"text,omitempty"`
	About    []string `json:"about,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// whyAsked answers questions that are asked by speech.
func whyAsked(cmd *cobra.Command, format string) error {
	f := cmd.Flags()
	for _, name := range []string{"links", "as-of"} {
		if f.Changed(name) {
			return usagef("--%s does not go with --listen", name)
		}
	}
	start, err := sinceFlag(cmd)
	if err != nil {
		return err
	}
	count, _ := f.GetInt("count")
	limit, _ := f.GetDuration("for")
	if count < 0 || limit < 0 {
		return usagef("--count %d --for %v: 0 or more", count, limit)
	}
	m, err := connect(cmd)
	if err != nil {
		return err
	}
	defer m.Close()
	ctx := cmd.Context()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	replies := 0
	var failed error
	err = reason.Listen(ctx, m, reason.ListenOptions{Robot: m.Robot(), Start: start, Replied: func(r reason.Reply) bool {
		failed = printReply(cmd, format, r)
		replies++
		return failed == nil && replies != count
	}})
	if failed != nil {
		return failed
	}
	return err
}

// printReply prints a question, and the answer below it.
func printReply(cmd *cobra.Command, format string, r reason.Reply) error {
	w := cmd.OutOrStdout()
	if format != "text" {
		return printObject(w, format, replyObject(r))
	}
	if err := printLine(w, span{faint, "“" + visible(r.Asked) + "”"}); err != nil {
		return err
	}
	if r.Err != nil {
		cmd.PrintErrf("engram: %s was not answered: %v\n", visible(r.Question.String()), r.Err)
		return nil
	}
	return printFolded(w, nil, span{text: visible(r.Text)})
}

func replyObject(r reason.Reply) replyJSON {
	o := replyJSON{Question: r.Question.String(), Asked: r.Asked, Text: r.Text}
	for _, id := range r.About {
		o.About = append(o.About, id.String())
	}
	if r.Err != nil {
		o.Error = r.Err.Error()
	} else {
		o.Answer = r.ID.String()
	}
	return o
}
