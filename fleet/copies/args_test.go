package copies_test

import (
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/copies"
)

// A shell hands over words; who puts all in quotes means the same, as in a configuration.
func TestParseArgs(t *testing.T) {
	for _, c := range []struct {
		args   []string
		copied string // its text, "" if it is refused
	}{
		{[]string{"robot1:Object/Instance"}, "robot1:Object/Instance"},
		{[]string{"robot1:Object/Instance", "rate=2", "where=confidence > 0.5"}, "robot1:Object/Instance rate=2 where='confidence > 0.5'"},
		{[]string{"robot1:Object/Instance rate=2 where='confidence > 0.5' spare"}, "robot1:Object/Instance rate=2 where='confidence > 0.5' spare"},
		{[]string{"robot1:Object/Instance spare", "rate=2"}, "robot1:Object/Instance rate=2 spare"},
		{[]string{"Vision/Image/Left Camera"}, "'Vision/Image/Left Camera'"},
		{[]string{"Vision/Image/Left Camera", "spare"}, "'Vision/Image/Left Camera' spare"},
		{[]string{"'Vision/Image/Left Camera' rate=1"}, "'Vision/Image/Left Camera' rate=1"},
		{[]string{"Vision/Image/Left Camera rate=1"}, ""},
		{[]string{"Vision/Image rat=1"}, ""},
		{[]string{"Vision/Image where='x"}, ""},
		{[]string{"Vision/Image", "spare rate=1"}, ""},
		{nil, ""},
	} {
		got, err := copies.ParseArgs(c.args)
		if c.copied == "" {
			if engram.CodeOf(err) != engram.Invalid {
				t.Errorf("%q is %q, %v; want it refused", c.args, copies.Format(&got), err)
			}
		} else if err != nil || copies.Format(&got) != c.copied {
			t.Errorf("%q is %q, %v; want %q", c.args, copies.Format(&got), err, c.copied)
		}
	}
}
