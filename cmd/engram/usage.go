package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-301d4374/engram/internal/spelling"
)

// onlyCommands is the check of the arguments of a command that has nothing but commands
// below it.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	known := map[string]string{} // by all names that they go by
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
			for _, name := range append(slices.Clone(c.Aliases), c.Name()) {
				known[name] = c.Name()
			}
		}
	}
	above := strings.TrimPrefix(cmd.CommandPath()+" ", cmd.Root().Name()+" ")
	hint := "there are " + listed(names, "and")
	switch near := spelling.Nearest(args[0], slices.Sorted(maps.Keys(known))); {
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", above+known[near])
	case !cmd.HasParent():
		hint = "'engram --help' lists them"
	}
	return usagef("there is no command %q; %s", above+args[0], hint)
}

// listed writes words as "a, b and c".
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// positional makes the error of an argument check a usage error that names the missing or
// surplus arguments.
func positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		wanted := strings.Fields(cmd.Use)[1:]
		needed := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return strings.HasPrefix(name, "[") })
		switch {
		case len(wanted) == 0:
			return usagef("%q is too much: %s takes flags only", args[0], cmd.CommandPath())
		case len(args) < len(needed):
			return usagef("%s is missing: %s", strings.TrimSuffix(needed[len(args)], "…"), cmd.UseLine())
		}
		return usagef("%q is too much: %s", args[len(args)-1], cmd.UseLine())
	}
}

// flagError says what is wrong with a flag as it was typed.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			return usagef("there is no flag -%s", unknown.GetSpecifiedName())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		hint := ""
		if near := spelling.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = fmt.Sprintf("; did you mean --%s?", near)
		}
		return usagef("there is no flag --%s%s", unknown.GetSpecifiedName(), hint)
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usagef("--%s: a value is missing", bare.GetFlag().Name)
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usagef("--%s: %w", bad.GetFlag().Name, valueError(bad.GetFlag(), bad.GetValue()))
	}
	return &usageError{err}
}

// valueError says what a value should be that a flag does not take.
func valueError(flag *pflag.Flag, value string) error {
	kind := flag.Value.Type()
	what, ok := map[string]string{
		"duration": "duration, such as 500ms, 10s or 1h30m",
		"int":      "whole number",
		"int64":    "whole number",
		"uint64":   "whole number of 0 or more",
		"float32":  "number",
		"float64":  "number",
	}[kind]
	if !ok {
		what = kind
	}
	if kind == "int" || kind == "int64" {
		if _, err := strconv.ParseInt(value, 0, 64); errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%s is out of range", value)
		}
	}
	if kind == "bool" {
		return fmt.Errorf("%q: say true or false", value)
	}
	return fmt.Errorf("%q is no %s", value, what)
}
