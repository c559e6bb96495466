package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/mind/pose"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// FuzzPoseRequest sends arbitrary bodies to the procedures of PoseService: each gets
// an answer, and the server lives on.
func FuzzPoseRequest(f *testing.F) {
	procedures := []string{"LookUp", "Acquire", "ReleaseAcquisition", "CommitRevision", "ListRevisions", "DiffPoses", "Tree", "Path", "ListLeftOut", "WatchPoses"}
	for i, bodies := range [][]string{
		{
			`{"questions": [{"target": "map", "source": "r/cam", "time": "55", "covariance": true, "asOf": "0"}, {"target": "odom", "source": "base", "when": "WHEN_LATEST_COMMON"}, {"target": "r/base", "source": "r/base", "when": "WHEN_BETWEEN", "time": "9", "sourceTime": "-9223372036854775808", "fixed": "odom"}]}`,
			`{"questions": [{"target": "map", "source": "r/base", "time": "9223372036854775807", "wait": true}, {"when": 77}, {}]}`,
		},
		{`{"sensor": "r/cam", "time": "5"}`, `{"sensor": "cam", "time": "1000000000000", "wait": true}`},
		{`{"id": "1"}`},
		{
			`{"author": "slam", "keys": [{"parent": "map", "child": "r/odom", "time": "3", "pose": {"x": 1, "qw": 1}, "covariance": {"values": [1,0,0,0,0,0,1,0,0,0,0,1,0,0,0,1,0,0,1,0,1], "mask": 35}}, {"parent": "map", "child": "r/base", "body": true, "time": "5", "pose": {"qw": 1}}], "replaced": [{"parent": "map", "child": "r/odom", "start": "0", "end": "9"}], "calibrations": [{"parent": "r/base", "child": "r/cam", "start": "-9223372036854775808", "end": "9223372036854775807", "pose": {"z": 2, "qw": 1}}]}`,
			`{"keys": [{"parent": "a", "child": "a", "pose": {"qw": "NaN"}}]}`, `{"keys": [{"covariance": {"mask": 64, "values": [1]}}]}`,
		},
		{`{}`},
		{`{"target": "map", "source": "r/cam", "from": "0", "to": "1", "trans": -1, "rot": "NaN"}`, `{"target": "map", "source": "r/base", "to": "18446744073709551615"}`},
		{`{"asOf": "0"}`, `{"asOf": "18446744073709551615"}`},
		{`{"target": "map", "source": "r/cam", "time": "5"}`, `{"target": "r/cam", "source": "", "time": "-5"}`},
		{`{}`},
		{`{"target": "map", "source": "r/cam", "onlyAcquired": true, "from": "0"}`, `{"target": "map", "source": "r/base", "trans": "Infinity"}`},
	} {
		for _, body := range append(bodies, "\x0a\x02\x08\x01", "\xff", "") {
			f.Add(uint8(i), false, []byte(body))
			f.Add(uint8(i), true, []byte(body))
		}
	}
	store := pose.New(pose.Config{MaxFrames: 100, Acquisitions: 100, MaxChanges: 1000})
	if err := store.Anchor("map", "r/odom"); err != nil {
		f.Fatal(err)
	}
	edge, err := store.Free("r/odom", "r/base")
	if err != nil {
		f.Fatal(err)
	}
	for i := range 10 {
		if err := edge.Set(5, pose.Translation(float64(i), 0, 0)); err != nil {
			f.Fatal(err)
		}
	}
	if err := store.Fixed("r/base", "r/cam", pose.Identity(), pose.ExactCov()); err != nil {
		f.Fatal(err)
	}
	s, err := server.New(server.Config{Memories: []server.Memory{{Name: "Test", Features: []feature.Feature{poses.Feature(lookup.New(store, lookup.Writes{}))}}}, Log: testkit.Quiet})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	h := rpc.NewHandler(s, nil, rpc.Options{Log: testkit.Quiet})
	f.Fuzz(func(t *testing.T, procedure uint8, isBinary bool, body []byte) {
		name := procedures[int(procedure)%len(procedures)]
		contentType := "application/json"
		if isBinary {
			contentType = "application/proto"
		}
		if name == "WatchPoses" { // a stream: its messages have a length before them
			contentType = strings.Replace(contentType, "/", "/connect+", 1)
			body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
		}
		// What waits is given up.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/engram.v1.PoseService/"+name, bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if strings.Contains(w.Body.String(), "defect") {
			t.Errorf("%s %q: %s", name, body, w.Body)
		}
	})
}
