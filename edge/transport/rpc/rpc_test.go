package rpc_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/server"
	"github.com/seed-301d4374/engram/internal/testkit"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testMemory is a memory "Test" with a core segment "Any" that takes any data.
func testMemory(hooks server.Hooks) server.Memory {
	return serving.Memory("Test", hooks)
}

// update is what entity "Test/Any/p/<name>" becomes at a time.
func update(t testing.TB, name string, at engram.Time, v any) engram.EntityUpdate {
	t.Helper()
	id, err := engram.NewID("Test", "Any", "p", name)
	if err != nil {
		t.Fatal(err)
	}
	return engram.EntityUpdate{Entity: id, Time: at, Instances: []engram.Instance{engram.NewInstance(testkit.Value(t, v))}}
}

// want fails the test if err is not of the code, or does not mention all words.
func want(t testing.TB, what string, err error, code engram.Code, words ...string) {
	t.Helper()
	if engram.CodeOf(err) != code {
		t.Errorf("%s: error %v of code %v; want %v", what, err, engram.CodeOf(err), code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q does not mention %q", what, err, w)
		}
	}
}
