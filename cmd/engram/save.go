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
// to name with a number before its ending. What is no image is left out with a note.
func saveImages(cmd *cobra.Command, items []shown, name string) error {
	n := 0
	var others []error
	var single []byte // for standard output
	for _, it := range items {
		for i, inst := range it.Instances {
			if it.index >= 0 && i != it.index {
				continue
			}
			id := it.ID.Instance(i)
			info, err := vision.Describe(inst.Payload)
			var out bytes.Buffer
			ext := filepath.Ext(name)
			if err == nil {
				if name == "-" {
					ext = ""
				}
				err = vision.Export(&out, inst.Payload, ext)
			}
			if err != nil {
				others = append(others, fmt.Errorf("%s: %w", id, err))
				continue
			}
			n++
			switch {
			case name == "-" && n > 1:
				return usagef("--save -: more than one image is selected; give a file name, or an ID of one")
			case name == "-":
				single = out.Bytes()
				continue
			}
			file := name
			if n > 1 {
				file = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
			}
			if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
				return err
			}
			cmd.Printf("%s  %s, from %s\n", file, info, visible(id.String()))
		}
	}
	if n == 0 && len(others) > 0 {
		return others[0]
	}
	for _, err := range others {
		cmd.PrintErrf("engram: not saved: %s\n", oneLine(err.Error()))
	}
	_, err := cmd.OutOrStdout().Write(single)
	return err
}
