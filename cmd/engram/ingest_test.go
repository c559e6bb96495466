package main

import (
	"testing"
	"time"

	"github.com/seed-301d4374/engram/ingest/live"
)

func TestFiguresText(t *testing.T) {
	before := live.Figures{Connected: true, Channels: 3, Messages: 1000, Bytes: 1e6}
	now := live.Figures{Connected: true, Channels: 3, Messages: 5000, Bytes: 5e6, Dropped: 1200}
	if got, want := figuresText("ws://robot:8765", now, before, 2*time.Second), "ws://robot:8765: 3 topics, 5,000 messages, 2000/s, 2.0 MB/s, 1,200 dropped"; got != want {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
	now.Connected = false
	if got, want := figuresText("ws://robot:8765", now, before, time.Second), "ws://robot:8765: no connection; 5,000 messages so far"; got != want {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
}

func TestRobotOf(t *testing.T) {
	for parameter, want := range map[string]string{
		"/robot_description": "spot", "robot_description": "spot", "/robot_state_publisher.robot_description": "spot",
		"/arm/robot_description": "arm", "/left/arm/robot_state_publisher.robot_description": "left.arm",
	} {
		if got := robotOf(parameter, "spot"); got != want {
			t.Errorf("%s is of %s instead of %s", parameter, got, want)
		}
	}
}

func TestIsOwn(t *testing.T) {
	for topic, want := range map[string]bool{
		"GeneralPurpose/x/robot/a": true, "GeneralPurpose/x/other/a": false, "/camera/image/robot/x": false, "/tf": false, "": false,
	} {
		if got := isOwn(topic, "robot"); got != want {
			t.Errorf("that %q is its own is %v", topic, got)
		}
	}
}
