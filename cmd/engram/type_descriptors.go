package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/core/idf"
)

func newTypeDescriptors() *cobra.Command {
	cmd := &cobra.Command{
		Use: "descriptors [NAME…] -o FILE", Short: "Write types as a FileDescriptorSet",
		Long: `Writes the encoded google.protobuf.FileDescriptorSet of types, all of the memory
without NAME, with all that they import: what protoc writes with --include_imports.
protoc, grpcurl, buf, protobuf-es, protobufjs and the protobuf libraries of Python and
C++ read it.`,
		Example: `  engram type descriptors engram.object.Instance -o instance.binpb
  protoc --descriptor_set_in=instance.binpb --decode=engram.object.Instance engram/object/Instance.proto < payload`,
		ValidArgsFunction: completeTypes,
	}
	cmd.Flags().StringP("out", "o", "", "the file to write; - is the standard output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, _ := cmd.Flags().GetString("out")
		if out == "" {
			return usagef("no file to write to; say -o FILE")
		}
		types, err := typesOfServer(cmd, args)
		if err != nil {
			return err
		}
		set, err := idf.DescriptorSet(types...)
		if err != nil {
			return err
		}
		if out == "-" {
			_, err := cmd.OutOrStdout().Write(set)
			return err
		}
		if err := os.WriteFile(out, set, 0o644); err != nil {
			return err
		}
		cmd.Printf("%s: %s, %s\n", out, countOf(uint64(len(types)), "type"), countOf(uint64(len(set)), "byte"))
		return nil
	}
	return cmd
}

// typesOfServer returns the types of those names that the memory knows, all without names.
func typesOfServer(cmd *cobra.Command, names []string) ([]*idf.Type, error) {
	m, err := connect(cmd)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if len(names) == 0 {
		if names, err = m.TypeNames(cmd.Context()); err != nil {
			return nil, err
		}
	}
	cache := newTypeCache(m)
	var types []*idf.Type
	for _, name := range names {
		t, err := cache.get(cmd.Context(), name)
		if err != nil {
			return nil, err
		}
		types = append(types, t)
	}
	return types, nil
}

// completeTypes completes the names of types that the memory knows.
func completeTypes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	m, err := connect(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	names, _ := m.TypeNames(cmd.Context())
	return names, cobra.ShellCompDirectiveNoFileComp
}
