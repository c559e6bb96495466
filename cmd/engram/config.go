package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What a flag of serve is can be said in three places, of which the first counts:
// on the command line, in the environment (ENGRAM_LEAF_OF for --leaf-of; several
// values are separated by commas), and in a configuration file, a YAML mapping of
// flags' names to values, lists for flags that may be repeated.
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

// loadConfig sets the flags that were not given on the command line from the
// environment and from the file that --config names. sources says where each flag's
// value is from. Errors name the variable, or the file and line.
func loadConfig(cmd *cobra.Command) (sources map[string]string, err error) {
	f := cmd.LocalNonPersistentFlags()
	sources = map[string]string{}
	f.VisitAll(func(flag *pflag.Flag) {
		sources[flag.Name] = sourceDefault
		if flag.Changed {
			sources[flag.Name] = sourceFlag
		}
		text, ok := os.LookupEnv(environmentName(flag.Name))
		if err != nil || !ok || flag.Changed {
			return
		}
		values := []string{text}
		if repeated(flag) {
			values = strings.Split(text, ",")
		}
		if problem := setFlag(flag, values); problem != nil {
			err = usagef("%s: %w", environmentName(flag.Name), problem)
		}
		sources[flag.Name] = sourceEnvironment
	})
	if err != nil {
		return nil, err
	}
	name, _ := f.GetString("config")
	if name == "" {
		return sources, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("--config: %w", err)
	}
	return sources, loadFile(f, name, text, sources)
}

// loadFile sets the flags that still have their default from the text of a file.
func loadFile(f *pflag.FlagSet, name string, text []byte, sources map[string]string) error {
	doc, err := parser.ParseBytes(text, 0)
	if err != nil {
		return usagef("%s is not YAML: %w", name, err)
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
			return usagef("%s:%d: a configuration is a mapping of names to values, such as \"robot: robot1\"", name, body.GetToken().Position.Line)
		}
	}
	for _, e := range entries {
		key := e.Key.GetToken()
		at := fmt.Sprintf("%s:%d: %s", name, key.Position.Line, key.Value)
		flag := f.Lookup(key.Value)
		switch {
		case flag == nil || slices.Contains([]string{"config", "help", "output"}, key.Value):
			return usagef("%s: there is no such setting%s; 'engram serve --help' lists them", at, meant(f, key.Value))
		}
		values, err := scalars(e.Value)
		if err == nil && len(values) != 1 && !repeated(flag) {
			err = fmt.Errorf("one value is expected, not a list")
		}
		if err != nil {
			return usagef("%s: %w", at, err)
		}
		if sources[key.Value] != sourceDefault {
			continue
		}
		if err := setFlag(flag, values); err != nil {
			return usagef("%s: %w", at, err)
		}
		sources[key.Value] = sourceFile
	}
	return nil
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
		return fmt.Errorf("%q is no %s", values[0], flag.Value.Type())
	}
	flag.Changed = true
	return nil
}

// meant suggests the setting that was meant.
func meant(f *pflag.FlagSet, typed string) string {
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := nearest(typed, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// settingJSON is a setting as config check prints it.
type settingJSON struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration of a memory server",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Args:  positional(cobra.NoArgs),
	}
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration and print what serve would run with",
		Long: `Reads a configuration as 'engram serve --config FILE' does, checks it without
starting anything, and prints every setting with where it is from.

The file is YAML; its keys are the flags of 'engram serve' without the dashes:

  robot: robot1
  listen: [unix:/run/engram/engram.sock, 10.0.0.1:7411]
  backbone: embedded
  leaf-of: [nats-leaf://base:7422]

A flag on the command line counts before the environment, and that before the file.
The variable of --leaf-of is ENGRAM_LEAF_OF, and so on; several values are separated
by commas. What is secret belongs into the file or the environment: everyone on the
computer can read command lines.`,
		Example: `  engram config check /etc/engram/robot.yaml`,
		Args:    positional(cobra.MaximumNArgs(1)),
	}
	addServeFlags(check)
	addOutputFlag(check)
	check.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := outputFormat(cmd)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			if err := cmd.Flags().Set("config", args[0]); err != nil {
				return err
			}
		}
		sources, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		if _, err := readSettings(cmd); err != nil {
			return err
		}
		out := &table{header: []string{"SETTING", "VALUE", "FROM"}}
		var objects []settingJSON
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if slices.Contains([]string{"config", "help", "output"}, flag.Name) {
				return
			}
			value := settingText(flag)
			out.add(flag.Name, visible(value), sources[flag.Name])
			objects = append(objects, settingJSON{Name: flag.Name, Value: value, Source: sources[flag.Name]})
		})
		return print(cmd.OutOrStdout(), format, out, objects)
	}
	cmd.AddCommand(check)
	return cmd
}
