package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/memories/vision"
)

// saveImages writes the images in the payloads to files: one to name itself, more
// to name with a number before its ending.
func saveImages(cmd *cobra.Command, items []shown, name string) error {
	n := 0
	for _, it := range items {
		for i, inst := range it.Instances {
			if it.index >= 0 && i != it.index {
				continue
			}
			n++
			file := name
			if n > 1 {
				ext := filepath.Ext(name)
				file = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
			}
			id := it.ID.Instance(i)
			info, err := vision.Describe(inst.Payload)
			if err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			var out bytes.Buffer
			if err := vision.Export(&out, inst.Payload, filepath.Ext(name)); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				return err
			}
			cmd.Printf("%s  %s, from %s\n", file, info, id)
		}
	}
	return nil
}
