package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/idf"
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
	}
	cmd.Flags().StringP("out", "o", "", "the file to write; - is the standard output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, _ := cmd.Flags().GetString("out")
		if out == "" {
			return usagef("no file to write; say -o FILE")
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
