package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram/internal/release"
)

// versionJSON says what program this is.
type versionJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Date     string `json:"date,omitempty"` // of the commit
	Dirty    bool   `json:"dirty,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (v versionJSON) String() string {
	built := ""
	if v.Revision != "" {
		built = " " + v.Revision[:min(12, len(v.Revision))]
	}
	if v.Dirty {
		built += " with changes"
	}
	if v.Date != "" {
		built += " of " + v.Date
	}
	return fmt.Sprintf("engram %s%s, %s %s", v.Version, built, v.Go, v.Platform)
}

func versionOf() versionJSON {
	r := release.Current()
	return versionJSON{Version: r.Version, Revision: r.Commit, Date: r.Date, Dirty: r.Dirty, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

func newVersion() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: positional(cobra.NoArgs)}
	printing(cmd, func(cmd *cobra.Command, _ []string, format string) error {
		v := versionOf()
		switch format {
		case "table":
			_, err := fmt.Fprintln(cmd.OutOrStdout(), v)
			return err
		case "csv":
			t := &table{header: []string{"VERSION", "REVISION", "DATE", "GO", "PLATFORM"}}
			t.add(v.Version, v.Revision, v.Date, v.Go, v.Platform)
			return t.writeCSV(cmd.OutOrStdout())
		}
		return printObject(cmd.OutOrStdout(), format, v)
	})
	return cmd
}
