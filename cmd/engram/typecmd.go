package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/idf"
)

func newType() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "type",
		Short: "List, show, check, convert and add types",
	}
	cmd.AddCommand(newTypeLs(), newTypeShow(), newTypeCheck(), newTypeConvert(), newTypeAdd(), newTypeDescriptors())
	return cmd
}

func newTypeLs() *cobra.Command {
	cmd := &cobra.Command{Use: "ls", Short: "List the types that the memory knows", Args: positional(cobra.NoArgs)}
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		names, err := m.TypeNames(cmd.Context())
		if err != nil {
			return err
		}
		t := &table{header: []string{"TYPE"}}
		for _, n := range names {
			t.add(n)
		}
		return print(cmd.OutOrStdout(), format, t, names)
	})
	return cmd
}

// memberJSON is a member of a type as 'type show' prints it.
type memberJSON struct {
	Number   int32  `json:"number"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Optional bool   `json:"optional,omitempty"`
	Doc      string `json:"doc,omitempty"`
}

func newTypeShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a type's members", Args: positional(cobra.ExactArgs(1)),
		Example:           "  engram type show engram.object.Instance\n  engram type show foxglove.RawImage --proto --with-imports",
		ValidArgsFunction: completeTypes,
	}
	cmd.Flags().Bool("proto", false, "as .proto")
	cmd.Flags().Bool("with-imports", false, "with --proto: all that it imports, too, each file after a line '// file: PATH'")
	cmd.Flags().Bool("source", false, "as it was written (ROS message definition, XML, .proto)")
	printing(cmd, func(cmd *cobra.Command, args []string, format string) error {
		imports, _ := cmd.Flags().GetBool("with-imports")
		if imports && !cmd.Flags().Changed("proto") {
			return usagef("--with-imports is for --proto")
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		t, err := newTypeCache(m).get(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if source, _ := cmd.Flags().GetBool("source"); source {
			if t.Def().Source == "" {
				return engram.Errorf(engram.NotFound, t.Name(), "the definition it was made from was not kept; --proto shows the type")
			}
			cmd.Println(t.Def().Source)
			return nil
		}
		if proto, _ := cmd.Flags().GetBool("proto"); proto {
			if imports {
				printWithImports(cmd, t)
			} else {
				cmd.Print(idf.PrintProto(t))
			}
			return nil
		}
		tab := &table{header: []string{"NUMBER", "MEMBER", "TYPE", "OPTIONAL", "DOC"}, right: []bool{true}, folded: true}
		for _, mem := range t.Members() {
			optional := cellOf("", "false")
			if mem.Optional {
				optional = cellOf("optional", "true")
			}
			tab.add(strconv.Itoa(int(mem.Number)), mem.Name, mem.Type, optional, strings.Join(strings.Fields(mem.Doc), " "))
		}
		return print(cmd.OutOrStdout(), format, tab, memberObjects(t.Members()))
	})
	return cmd
}

func memberObjects(all []idf.Member) (objects []memberJSON) {
	for _, m := range all {
		objects = append(objects, memberJSON{m.Number, m.Name, m.Type, m.Optional, m.Doc})
	}
	return objects
}

// printWithImports prints the .proto text of a type and of all that it imports.
func printWithImports(cmd *cobra.Command, t *idf.Type) {
	for i, f := range idf.PrintImports(t) {
		if i > 0 {
			cmd.Println()
		}
		cmd.Printf("// file: %s\n%s", f.Path, f.Text)
	}
}

// compileFile compiles a type file found on disk; includes are searched in its
// folder and in the folders given with -I.
func compileFile(cmd *cobra.Command, name string) ([]engram.TypeDef, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	folders, _ := cmd.Flags().GetStringArray("include")
	src := idf.Source{os.DirFS(filepath.Dir(name))}
	for _, f := range folders {
		src = append(src, os.DirFS(f))
	}
	switch filepath.Ext(name) {
	case ".xml":
		return idf.CompileXML(src, filepath.Base(name))
	case ".proto":
		return idf.CompileProto(src, filepath.Base(name))
	}
	return nil, usagef("%s: a type file ends in .xml or .proto", name)
}

func addIncludeFlag(cmd *cobra.Command) {
	cmd.Flags().StringArrayP("include", "I", nil, "search included files in this folder too; may be repeated")
}

func newTypeCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a type file, a payload against it, or that it extends another type",
		Example: `  engram type check cup.xml
  engram type check cup.xml --extends engram.object.Instance
  engram type check cup.xml --data @cup.json`,
		Args: positional(cobra.ExactArgs(1)),
	}
	addIncludeFlag(cmd)
	cmd.Flags().String("extends", "", "check that the file's last type extends this type of the memory")
	cmd.Flags().String("data", "", "check that this JSON (or @FILE) is a payload of the file's last type")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defs, err := compileFile(cmd, args[0])
		if err != nil {
			return err
		}
		reg := idf.NewRegistry()
		var last *idf.Type
		for _, def := range defs {
			if last, err = reg.Add(def); err != nil {
				return err
			}
		}
		if last == nil {
			return engram.Errorf(engram.Invalid, args[0]+":1", "the file defines no type; expected <Object name=…> in <GenerateTypes>, or a message")
		}
		if core, _ := cmd.Flags().GetString("extends"); core != "" {
			m, err := connect(cmd)
			if err != nil {
				return err
			}
			defer m.Close()
			t, err := newTypeCache(m).get(cmd.Context(), core)
			if err != nil {
				return err
			}
			if err := last.CheckExtends(t); err != nil {
				return err
			}
			cmd.Printf("%s extends %s\n", last.Name(), core)
		}
		if data, _ := cmd.Flags().GetString("data"); data != "" {
			j, err := readArg(cmd, data)
			if err != nil {
				return err
			}
			b, err := encodeJSON(last, json.RawMessage(j))
			if err != nil {
				return err
			}
			if err := last.Check(b); err != nil {
				return err
			}
			cmd.Printf("a payload of %s, %s encoded\n", last.Name(), countOf(uint64(len(b)), "byte"))
		}
		for _, def := range defs {
			cmd.Printf("%s is a valid type\n", def.Name)
		}
		return nil
	}
	return cmd
}

func newTypeConvert() *cobra.Command {
	cmd := &cobra.Command{
		Use: "convert FILE.xml", Short: "Convert an ArmarX XML type file to .proto", Args: positional(cobra.ExactArgs(1)),
		Long: `Prints the .proto that an ArmarX XML type file stands for. Types of several
namespaces, and included ones, become several files: --out writes them to a folder.`,
		Example: "  engram type convert cup.xml\n  engram type convert cup.xml -I ../types --out proto",
	}
	addIncludeFlag(cmd)
	cmd.Flags().String("out", "", "write the files to this folder instead of printing them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defs, err := compileFile(cmd, args[0])
		if err != nil {
			return err
		}
		files := map[string]string{}
		for _, def := range defs {
			t, err := idf.ParseType(def)
			if err != nil {
				return err
			}
			maps.Copy(files, idf.PrintFiles(t))
		}
		if len(files) == 0 {
			return engram.Errorf(engram.Invalid, args[0]+":1", "the file defines no type; expected <Object name=…> in <GenerateTypes>, or a message")
		}
		out, _ := cmd.Flags().GetString("out")
		for i, name := range slices.Sorted(maps.Keys(files)) {
			if out != "" {
				if err := writeFile(filepath.Join(out, filepath.FromSlash(name)), files[name]); err != nil {
					return err
				}
				cmd.Println(filepath.Join(out, filepath.FromSlash(name)))
				continue
			}
			if i > 0 {
				cmd.Println()
			}
			if len(files) > 1 {
				cmd.Printf("// file: %s\n", name)
			}
			cmd.Print(files[name])
		}
		return nil
	}
	return cmd
}

func newTypeAdd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "add FILE…", Short: "Make the types in files known to the running memory", Args: positional(cobra.MinimumNArgs(1)),
		Example: "  engram type add cup.xml\n  engram segment add Object/Cup --type lab.Cup",
	}
	addIncludeFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var defs []engram.TypeDef
		for _, name := range args {
			found, err := compileFile(cmd, name)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return engram.Errorf(engram.Invalid, name, "the file defines no type; expected <Object name=…> in <GenerateTypes>, or a message")
			}
			defs = append(defs, found...)
		}
		m, err := connect(cmd)
		if err != nil {
			return err
		}
		defer m.Close()
		for _, def := range defs {
			if err := m.AddType(cmd.Context(), def); err != nil {
				return err
			}
			cmd.Printf("%s added\n", def.Name)
		}
		return nil
	}
	return cmd
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
