package main

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/core/idf/gen"
	"github.com/seed-301d4374/engram/internal/spelling"
	"github.com/seed-301d4374/engram/mind/memories"
)

func newGen() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gen",
		Short: "Write classes for types, in Go or Python",
		Long: `Writes business objects: classes with the members of types, that convert themselves
to payload bytes and back, and that read what they know of a payload of another type.

Without TYPE, classes of all types are written that the files define, or that the
memory knows. Types that others are made of are always written with them. Without
--from-server and files, the types are those that come with this program.

docs/codegen.md shows the classes of each language.`,
	}
	cmd.AddCommand(
		newGenLanguage(gen.Go, "Write a package of Go structs", "The structs need the module github.com/seed-301d4374/engram."),
		newGenLanguage(gen.Python, "Write a package of Python dataclasses", "The classes need engram.payload of clients/python, and numpy."),
	)
	return cmd
}

func newGenLanguage(lang gen.Language, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: string(lang) + " [TYPE…]", Short: short,
		Long: short + ".\n\n" + long + "\n\nFiles that are there are overwritten; no others are touched.",
		Example: "  engram gen " + string(lang) + " --xml cup.xml --out cup\n" +
			"  engram gen " + string(lang) + " engram.object.Instance --out objects\n" +
			"  engram gen " + string(lang) + " --from-server --out types",
	}
	f := cmd.Flags()
	f.Bool("from-server", false, "take the types from the running memory")
	f.StringArray("xml", nil, "take the types from this ArmarX XML file; may be repeated")
	f.StringArray("proto", nil, "take the types from this .proto file; may be repeated")
	addIncludeFlag(cmd)
	f.String("out", "", "the folder to write to; its name is that of the package")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if server, _ := cmd.Flags().GetBool("from-server"); server {
			return completeTypes(cmd, args, toComplete)
		}
		return memories.TypeNames(), cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, _ := cmd.Flags().GetString("out")
		if out == "" {
			return usagef("no folder to write to; say --out DIR")
		}
		types, err := typesToWrite(cmd, args)
		if err != nil {
			return err
		}
		path, err := filepath.Abs(out)
		if err != nil {
			return err
		}
		files, err := gen.Files(lang, types, gen.Options{Package: filepath.Base(path)})
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			path := filepath.Join(out, filepath.FromSlash(name))
			if err := writeFile(path, string(files[name])); err != nil {
				return err
			}
			cmd.Println(path)
		}
		return nil
	}
	return cmd
}

// typesToWrite returns the types that the flags and arguments of gen ask for.
func typesToWrite(cmd *cobra.Command, names []string) ([]*idf.Type, error) {
	server, _ := cmd.Flags().GetBool("from-server")
	xml, _ := cmd.Flags().GetStringArray("xml")
	proto, _ := cmd.Flags().GetStringArray("proto")
	if server && len(xml)+len(proto) > 0 {
		return nil, usagef("--from-server and files exclude each other: types come from one of them")
	}
	if server {
		return typesOfServer(cmd, names)
	}
	if len(xml)+len(proto) == 0 {
		if len(names) == 0 {
			return nil, usagef("no types; name some that come with this program, or say --from-server, --xml FILE or --proto FILE")
		}
		return named(names, memories.Type, memories.TypeNames())
	}
	return typesOfFiles(cmd, names, xml, proto)
}

// typesOfFiles returns the types of those names that files define, all without names.
func typesOfFiles(cmd *cobra.Command, names, xml, proto []string) ([]*idf.Type, error) {
	reg := idf.NewRegistry()
	var defined []string
	for _, file := range slices.Concat(xml, proto) {
		if ext := filepath.Ext(file); slices.Contains(xml, file) != (ext == ".xml") {
			return nil, usagef("%s: a file of --xml ends in .xml, one of --proto in .proto", file)
		}
		defs, err := compileFile(cmd, file)
		if errors.Is(err, os.ErrNotExist) {
			return nil, engram.Errorf(engram.NotFound, file, "there is no such file")
		}
		if err != nil {
			return nil, err
		}
		if len(defs) == 0 {
			return nil, engram.Errorf(engram.Invalid, file, "the file defines no type; expected <Object name=…> in <GenerateTypes>, or a message")
		}
		for _, def := range defs {
			if _, err := reg.Add(def); err != nil {
				return nil, err
			}
			defined = append(defined, def.Name)
		}
	}
	if len(names) == 0 {
		names = defined
	}
	return named(names, reg.Get, defined)
}

// named returns the types of those names.
func named(names []string, get func(string) (*idf.Type, bool), known []string) (types []*idf.Type, err error) {
	for _, name := range names {
		t, ok := get(name)
		if !ok {
			hint := "there are " + strings.Join(known, ", ")
			if near := spelling.Nearest(name, known); near != "" {
				hint = "did you mean " + near + "?"
			} else if len(known) > 10 {
				hint = "'engram type ls' lists those of the running memory, for --from-server"
			}
			return nil, engram.Errorf(engram.NotFound, name, "no such type; %s", hint)
		}
		types = append(types, t)
	}
	return types, nil
}
