package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-301d4374/engram/internal/spelling"
)

// What a flag of serve is can be said in three places, of which the first counts:
// on the command line, in the environment (ENGRAM_LEAF_OF for --leaf-of; several
// values are separated by commas, those that may hold commas are one a line), and in a
// configuration file, a YAML mapping of flags' names to values, lists for flags that may
// be repeated.
const (
	sourceFlag        = "flag"
	sourceEnvironment = "environment"
	sourceFile        = "file"
	sourceDefault     = "default"
)

// addConfigFlag gives a command the flag --config.
func addConfigFlag(cmd *cobra.Command) {
	cmd.Flags().String("config", "", "read flags from this YAML file; see 'engram config check --help'")
}

// environmentName is the variable that stands for a flag.
func environmentName(flag string) string {
	return "ENGRAM_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// origin is where a setting's value is from.
type origin struct {
	source string
	place  string // where a mistake in it is: the variable, or the file and line; "" for a flag
	line   int    // of the file
}

// loadSettings reads and checks what a server is to run with: the flags, the environment
// and the file that --config names. The error has all mistakes, joined; each names the
// flag, the variable, or the file and line.
func loadSettings(cmd *cobra.Command) (settings, map[string]origin, error) {
	origins := map[string]origin{}
	wrong := loadConfig(cmd, origins)
	s, err := readSettings(cmd)
	var lacking []error
	for _, one := range apart(err) {
		if _, lacks := errors.AsType[*needsError](one); lacks {
			lacking = append(lacking, located(one, origins))
		} else {
			wrong = append(wrong, located(one, origins))
		}
	}
	if len(wrong) == 0 { // else what is lacking may be what was mistyped
		wrong = lacking
	}
	line := func(err error) int {
		m, _ := errors.AsType[*mistake](err)
		if m == nil {
			return 0
		}
		return m.line
	}
	slices.SortStableFunc(wrong, func(a, b error) int { return line(a) - line(b) })
	return s, origins, errors.Join(wrong...)
}

// mistake is what is wrong in a line of a file.
type mistake struct {
	line int
	error
}

func mistakef(line int, format string, args ...any) error {
	return &usageError{&mistake{line, fmt.Errorf(format, args...)}}
}

// yamlPlace is how the YAML parser begins its errors: [line:column].
var yamlPlace = regexp.MustCompile(`^\[(\d+):\d+\] (.*)`)

var leadingFlag = regexp.MustCompile(`^--([a-z-]+)`)

// located is an error that begins with a flag's name, with the place of its value.
func located(err error, origins map[string]origin) error {
	name := leadingFlag.FindStringSubmatch(err.Error())
	if name == nil || origins[name[1]].place == "" {
		return err
	}
	o := origins[name[1]]
	return mistakef(o.line, "%s: %s", o.place, strings.TrimPrefix(err.Error(), "--"))
}

// loadConfig sets the flags that were not given on the command line from the
// environment and from the file that --config names, notes where each value is from, and
// returns the mistakes.
func loadConfig(cmd *cobra.Command, origins map[string]origin) (wrong []error) {
	f := cmd.LocalNonPersistentFlags()
	f.VisitAll(func(flag *pflag.Flag) {
		origins[flag.Name] = origin{source: sourceDefault}
		if flag.Changed {
			origins[flag.Name] = origin{source: sourceFlag}
		}
		variable := environmentName(flag.Name)
		text, ok := os.LookupEnv(variable)
		if !ok || flag.Changed {
			return
		}
		if err := setFlag(flag, values(flag, text)); err != nil {
			wrong = append(wrong, usagef("%s: %w", variable, err))
		}
		origins[flag.Name] = origin{source: sourceEnvironment, place: variable}
	})
	name, _ := f.GetString("config")
	if name == "" {
		return wrong
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return append(wrong, usagef("--config: %w", err))
	}
	return append(wrong, loadFile(f, name, text, origins)...)
}

// oneALine are the flags that may be repeated and whose values may hold commas.
var oneALine = []string{"copy", "publish-data"}

// values returns the values of a flag that a variable's text holds.
func values(flag *pflag.Flag, text string) (out []string) {
	switch {
	case !repeated(flag):
		return []string{text}
	case !slices.Contains(oneALine, flag.Name):
		return strings.Split(text, ",")
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// loadFile sets the flags that still have their default from the text of a file, and
// returns the mistakes.
func loadFile(f *pflag.FlagSet, name string, text []byte, origins map[string]origin) (wrong []error) {
	doc, err := parser.ParseBytes(text, 0)
	if err != nil {
		what, _, _ := strings.Cut(err.Error(), "\n") // then the parser draws where it is
		if at := yamlPlace.FindStringSubmatch(what); at != nil {
			return []error{usagef("%s:%s: not YAML: %s", name, at[1], at[2])}
		}
		return []error{usagef("%s: not YAML: %s", name, what)}
	}
	var entries []*ast.MappingValueNode
	for _, d := range doc.Docs {
		switch body := d.Body.(type) {
		case nil:
		case *ast.MappingNode:
			entries = append(entries, body.Values...)
		case *ast.MappingValueNode:
			entries = append(entries, body)
		case *ast.CommentGroupNode:
		default:
			wrong = append(wrong, usagef("%s:%d: a configuration is a mapping of names to values, such as \"robot: robot1\"", name, body.GetToken().Position.Line))
		}
	}
	for _, e := range entries {
		key := e.Key.GetToken()
		at := origin{sourceFile, fmt.Sprintf("%s:%d", name, key.Position.Line), key.Position.Line}
		if err := loadEntry(f, key.Value, e.Value, at, origins); err != nil {
			wrong = append(wrong, mistakef(at.line, "%s: %s: %w", at.place, key.Value, err))
		}
	}
	return wrong
}

// loadEntry sets the flag of one entry of a file.
func loadEntry(f *pflag.FlagSet, key string, value ast.Node, at origin, origins map[string]origin) error {
	flag := f.Lookup(key)
	if flag == nil || slices.Contains([]string{"config", "help", "output"}, key) {
		return fmt.Errorf("there is no such setting%s", meant(f, key))
	}
	values, err := scalars(value)
	if err == nil && len(values) != 1 && !repeated(flag) {
		err = fmt.Errorf("one value is expected, not a list")
	}
	if err != nil || origins[key].source != sourceDefault {
		return err
	}
	origins[key] = at
	return setFlag(flag, values)
}

// scalars returns a value, or those of a list, as texts.
func scalars(n ast.Node) ([]string, error) {
	switch n := n.(type) {
	case *ast.SequenceNode:
		var out []string
		for _, v := range n.Values {
			one, err := scalars(v)
			if err != nil || len(one) != 1 {
				return nil, fmt.Errorf("a list of plain values is expected")
			}
			out = append(out, one[0])
		}
		return out, nil
	case *ast.NullNode, *ast.MappingNode, *ast.MappingValueNode:
		return nil, fmt.Errorf("a value or a list of values is expected")
	case *ast.LiteralNode:
		return []string{n.Value.Value}, nil
	}
	return []string{n.GetToken().Value}, nil
}

func repeated(flag *pflag.Flag) bool {
	_, ok := flag.Value.(pflag.SliceValue)
	return ok
}

func setFlag(flag *pflag.Flag, values []string) error {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		if err := list.Replace(values); err != nil {
			return err
		}
	} else if err := flag.Value.Set(values[0]); err != nil {
		_ = flag.Value.Set(flag.DefValue) // else what is left of it may be one more mistake
		return valueError(flag, values[0])
	}
	flag.Changed = true
	return nil
}

// meant suggests the setting that was meant, or says where they are listed.
func meant(f *pflag.FlagSet, typed string) string {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := spelling.Nearest(typed, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; 'engram serve --help' lists them"
}

// settingJSON is a setting as config check prints it.
type settingJSON struct {
	Name   string   `json:"name"`
	Value  string   `json:"value"`            // several with spaces between
	Values []string `json:"values,omitempty"` // of one that may be repeated
	Source string   `json:"source"`
}

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration of a memory server",
	}
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration and print what serve would run with",
		Long: `Reads a configuration as 'engram serve --config FILE' does, checks it without
starting anything, and prints every setting with where it is from, one that is repeated
in several lines, or every mistake with its line.

The file is YAML; its keys are the flags of 'engram serve' without the dashes:

  robot: robot1
  listen: [unix:/run/engram/engram.sock, 10.0.0.1:7411]
  backbone: embedded
  leaf-of: [nats-leaf://base:7422]

A flag on the command line counts before the environment, and that before the file.
The variable of --leaf-of is ENGRAM_LEAF_OF, and so on; several values are separated
by commas, those of --copy and --publish-data, which may hold commas, by new lines.
What is secret belongs into the file or the environment: everyone on the computer can
read command lines.`,
		Example: `  engram config check /etc/engram/robot.yaml`,
		Args:    positional(cobra.MaximumNArgs(1)),
	}
	addServeFlags(check)
	printing(check, func(cmd *cobra.Command, args []string, format string) error {
		if len(args) == 1 {
			if err := cmd.Flags().Set("config", args[0]); err != nil {
				return err
			}
		}
		s, origins, err := loadSettings(cmd)
		if err != nil {
			return err
		}
		out := &table{header: []string{"SETTING", "VALUE", "FROM"}}
		var objects []settingJSON
		effective := s.effective()
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Hidden || slices.Contains([]string{"config", "help", "output"}, flag.Name) {
				return
			}
			o := settingJSON{Name: flag.Name, Source: origins[flag.Name].source}
			if list, ok := flag.Value.(pflag.SliceValue); ok {
				values := list.GetSlice()
				if flag.Name == "listen" {
					values = s.Listen
				}
				o.Values = redacted(values)
				o.Value = strings.Join(o.Values, " ")
			} else {
				o.Value = redacted([]string{cmp.Or(effective[flag.Name], flag.Value.String())})[0]
			}
			lines := o.Values
			if len(lines) == 0 {
				lines = []string{o.Value}
			}
			for _, line := range lines {
				out.add(o.Name, visible(line), o.Source)
			}
			objects = append(objects, o)
		})
		return print(cmd.OutOrStdout(), format, out, objects)
	})
	cmd.AddCommand(check)
	return cmd
}
