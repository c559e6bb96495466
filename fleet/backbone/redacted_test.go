package backbone_test

import (
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
	"github.com/seed-301d4374/engram/internal/testkit"
)

func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"nats://host:4222":                        "nats://host:4222",
		"nats://token@host:4222":                  "nats://xxxxx@host:4222",
		"nats://user:secret@host:4222":            "nats://xxxxx@host:4222",
		"nats://user:p@ss@host":                   "nats://xxxxx@host",
		"nats://user:a/b@host":                    "nats://xxxxx@host",
		"nats://user:1/b@host":                    "nats://xxxxx@host",
		"nats://user:1?b@host":                    "nats://xxxxx@host",
		"nats://user:a,b@host":                    "nats://xxxxx@host",
		"nats://user:a b\n@host":                  "nats://xxxxx@host",
		"nats://user:a://b@host":                  "nats://xxxxx@host",
		"nats://token@one,nats://user:secret@two": "nats://xxxxx@one,nats://xxxxx@two",
		"nats://one,two:4222, tls://token@three":  "nats://one,two:4222, tls://xxxxx@three",
		"user:a,b@host:4222":                      "xxxxx@host:4222",
		"unix:/run/a@b.sock":                      "unix:/run/a@b.sock",
	} {
		if got := backbone.Redacted(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a URL that is none has before its @ is in no error.
func TestBadURLIsNotShown(t *testing.T) {
	for _, url := range []string{"user:jellycuttle@127.0.0.1:1", "http://user:jellycuttle@127.0.0.1:1", "nats://127.0.0.1:1,https://user:jellycuttle@127.0.0.1:1"} {
		_, err := backbone.Connect(t.Context(), backbone.Options{URL: url, Log: testkit.Quiet})
		if engram.CodeOf(err) != engram.Invalid || strings.Contains(err.Error(), "jelly") {
			t.Errorf("%v", err)
		}
	}
	for _, password := range []string{"jelly/cuttle", "jelly,cuttle", `jelly"cuttle`, "jelly cuttle", "jelly#cuttle", "jelly%cuttle"} {
		b, err := backbone.Connect(t.Context(), backbone.Options{URL: "nats://user:" + password + "@127.0.0.1:1", Log: testkit.Quiet})
		if err == nil {
			b.Close()
		}
		if engram.CodeOf(err) != engram.Invalid || strings.Contains(err.Error(), "jelly") || strings.Contains(err.Error(), "cuttle") {
			t.Errorf("%v", err)
		}
	}
}
