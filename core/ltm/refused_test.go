package ltm_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/ltm"
	"github.com/seed-301d4374/engram/core/ltm/policy"
)

// health returns what does not work of an epoch, as one text.
func (l *life) health(t testing.TB) string {
	t.Helper()
	st, err := l.LTMStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(st.Health, "; ")
}

// A codec that there is not is refused when it is set, and in the file of policies, with
// its line.
func TestCodecThatThereIsNot(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir})
	o := policy.Override{Pattern: engram.MustPattern("Test/Synced"), Settings: map[string]string{"codec": "h264"}}
	if err := l.SetPolicy(t.Context(), o); engram.CodeOf(err) != engram.OutOfRange || !strings.Contains(err.Error(), "video") {
		t.Errorf("setting codec h264: %v; want OutOfRange that names the codecs", err)
	}
	if set := l.PolicyOverrides(); len(set) > 0 {
		t.Errorf("what was refused is set: %+v", set)
	}
	l.end(t)
	text := "version: 1\npolicies:\n  Test/Synced:\n    codec: h264\n"
	if err := os.WriteFile(filepath.Join(dir, "policies.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := ltm.Open(t.Context(), ltm.Options{Dir: dir, Log: quiet})
	if engram.CodeOf(err) != engram.OutOfRange || !strings.Contains(err.Error(), "line 4") {
		t.Errorf("opening a folder with codec h264: %v; want OutOfRange that names the line", err)
	}
}

// What the codec of its segment refuses is stored plain, between what it takes, and the
// health says so until the policy is changed.
func TestCodecThatRefusesIsPassedOver(t *testing.T) {
	dir := fastDir(t)
	l := begin(t, ltm.Options{Dir: dir, Policies: map[engram.ID]policy.Policy{engram.MustID("Test/Synced"): {Codec: "columns"}}})
	const cup = "Test/Synced/p/cup"
	l.commit(t, cup, 0, "coded")
	l.wantTimes(t, "coded", cup, engram.TargetLTM, engram.All(), 0)
	if err := l.SpoilCodec(t.Context(), engram.MustID(cup)); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		l.commit(t, cup, engram.Time(1+i), fmt.Sprint(i))
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	if h := l.health(t); !strings.Contains(h, "the codec of Test/Synced") {
		t.Errorf("the health says %q", h)
	}
	o := policy.Override{Pattern: engram.MustPattern("Test/Synced"), Settings: map[string]string{"codec": "zstd"}}
	if err := l.SetPolicy(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if h := l.health(t); h != "" {
		t.Errorf("with another codec the health says %q", h)
	}
	l.commit(t, cup, 21, "coded again")
	if st, err := l.LTMStats(t.Context()); err != nil || st.Lost > 0 {
		t.Errorf("%d are lost, %v", st.Lost, err)
	}
	dir = killed(t, dir)
	l.end(t)
	l = begin(t, ltm.Options{Dir: dir})
	if got, missing := l.times(t, cup, engram.TargetLTM, engram.All()); len(got) != 22 || len(missing) > 0 {
		t.Errorf("in the next epoch there are %d of 22; missing %+v", len(got), missing)
	}
}

// What was promised to survive and can be in no episode stays in the log, whatever is
// sealed, and the health says so; the next epoch has it.
func TestLogKeepsWhatNoEpisodeTakes(t *testing.T) {
	for _, durable := range []string{"Test/Logged/p/cup", "Test/Synced/p/cup"} {
		for _, end := range []string{"killed", "ended"} {
			t.Run(durable+" "+end, func(t *testing.T) {
				dir := fastDir(t)
				l := begin(t, ltm.Options{Dir: dir})
				l.commit(t, durable, 0, 0)
				l.wantTimes(t, "before", durable, engram.TargetLTM, engram.All(), 0)
				if err := l.SpoilEntity(t.Context(), engram.MustID(durable)); err != nil {
					t.Fatal(err)
				}
				for i := 1; i < 6; i++ {
					l.commit(t, durable, engram.Time(i), i)
				}
				for range 2 { // the second time the log has nothing that is not known to be refused
					if err := l.Seal(t.Context(), "test"); err != nil {
						t.Fatal(err)
					}
				}
				if h := l.health(t); !strings.Contains(h, durable) {
					t.Errorf("the health says %q", h)
				}
				if end == "killed" {
					l.commit(t, "Test/Synced/p/after", 0, 0) // with it all before it is on the disk
					dir = killed(t, dir)
				}
				l.end(t)
				l = begin(t, ltm.Options{Dir: dir})
				l.wantTimes(t, "in the next epoch", durable, engram.TargetLTM, engram.All(), 0, 1, 2, 3, 4, 5)
				if err := l.Seal(t.Context(), "test"); err != nil {
					t.Fatal(err)
				}
				if h := l.health(t); h != "" {
					t.Errorf("in the next epoch the health says %q", h)
				}
				if n := logBytes(t, dir, "Test"); n > 8192 {
					t.Errorf("when it is sealed the log has %d bytes", n)
				}
			})
		}
	}
}

// What is lost for one reason, again and again, is told once with its number, in the
// episode and in the log of the server.
func TestEqualLossesAreToldOnce(t *testing.T) {
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	const cup, lost = "Test/Volatile/p/cup", 1000
	l.commit(t, "Test/Volatile/p/other", 0, 0)
	if err := l.SpoilEntity(t.Context(), engram.MustID(cup)); err != nil {
		t.Fatal(err)
	}
	for i := range lost {
		l.commit(t, cup, engram.Time(i), i)
	}
	if err := l.Seal(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	infos, err := l.Episodes(t.Context(), engram.Always())
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	if got := infos[0].Losses; len(got) != 1 || !strings.HasPrefix(got[0], "a version of Test/Volatile was not recorded: ") || !strings.HasSuffix(got[0], " (1000 times)") {
		t.Errorf("the episode tells of %q", got)
	}
	if n := infos[0].Bytes; n > 64<<10 {
		t.Errorf("the episode has %d bytes", n)
	}
	if st, err := l.LTMStats(t.Context()); err != nil || st.Lost != lost {
		t.Errorf("%d are counted, %v; want %d", st.Lost, err, lost)
	}
}

// An episode takes only so many marks, for what it says of itself is written anew with
// them; then another begins.
func TestManyMarksBeginAnotherEpisode(t *testing.T) {
	t.Cleanup(ltm.SetMaxMarks(10))
	l := begin(t, ltm.Options{Dir: fastDir(t)})
	for i := range 10 {
		if err := l.Mark(t.Context(), ltm.EpisodeMark(engram.Time(i), "bump", 0)); err != nil {
			t.Fatal(err)
		}
	}
	l.commit(t, "Test/Volatile/p/cup", 0, 0) // after an update, or a while, it is looked at
	for {
		infos, err := l.Episodes(t.Context(), engram.Always())
		if err != nil {
			t.Fatal(err)
		}
		if len(infos) > 0 && infos[0].Sealed {
			if len(infos[0].Marks) != 10 || infos[0].Labels["sealed for"] != "marks" {
				t.Errorf("sealed is %+v", infos[0])
			}
			break
		}
		time.Sleep(time.Millisecond)
	}
}
