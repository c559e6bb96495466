package main

import (
	"bytes"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/idf"
	"github.com/seed-301d4374/engram/edge/ingest"
	"github.com/seed-301d4374/engram/mind/pose/urdf"
)

// importURDF commits the description given with --urdf as that of the robot which
// the recordings are of: each recording's source, or the one for all.
func importURDF(cmd *cobra.Command, m *client.Client, recordings []string, source string) error {
	file, _ := cmd.Flags().GetString("urdf")
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d, err := urdf.Read(bytes.NewReader(text), file)
	if err != nil {
		return err
	}
	for _, doubt := range d.Doubts {
		cmd.PrintErrln("warning:", doubt)
	}
	const segment = "RobotState/Description"
	def, err := m.Type(cmd.Context(), "engram.robot_state.Description")
	if err != nil {
		return err
	}
	typ, err := idf.ParseType(def)
	if err != nil {
		return err
	}
	for _, recording := range recordings {
		robot := source
		if robot == "" {
			robot = ingest.SourceName(recording)
		}
		id, err := engram.MustID(segment).Child(robot)
		if err == nil {
			id, err = id.Child(robot)
		}
		if err != nil {
			return err
		}
		b, err := typ.Encode(map[string]any{"name": robot, "urdf": urdf.UTF8(text)})
		if err != nil {
			return engram.Errorf(engram.CodeOf(err), file, "%w", err)
		}
		results, err := m.Commit(cmd.Context(), engram.Commit{Updates: []engram.EntityUpdate{{
			Entity: id, Time: engram.Now(), Instances: []engram.Instance{engram.NewInstance(engram.Payload{Type: typ.Name(), Bytes: b})},
		}}})
		if err == nil {
			err = results[0].Err
		}
		if err != nil {
			return engram.Errorf(engram.CodeOf(err), file, "%w", err)
		}
	}
	return nil
}
