package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionJSON says what program this is.
type versionJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (v versionJSON) String() string {
	revision := ""
	if v.Revision != "" {
		revision = " " + v.Revision[:min(12, len(v.Revision))]
	}
	return fmt.Sprintf("engram %s%s, %s %s", v.Version, revision, v.Go, v.Platform)
}

func versionOf() versionJSON {
	v := versionJSON{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if m := info.Main.Version; m != "" && m != "(devel)" {
			v.Version = m
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	return v
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: positional(cobra.NoArgs)}
	addOutputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		format, err := outputFormat(cmd)
		if err != nil {
			return err
		}
		v := versionOf()
		switch format {
		case "table":
			_, err = fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		case "csv":
			t := &table{header: []string{"VERSION", "REVISION", "GO", "PLATFORM"}}
			t.add(v.Version, v.Revision, v.Go, v.Platform)
			return t.writeCSV(cmd.OutOrStdout())
		}
		return printObject(cmd.OutOrStdout(), format, v)
	}
	return cmd
}
