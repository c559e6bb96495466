package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"Speech", "Skill", "Vision", "*"}
	for typed, want := range map[string]string{
		"speech": "Speech", "Speach": "Speech", "vison": "Vision", "vsiion": "Vision", "Grasp": "", "x": "", "": "",
		"SpeechOfMine": "Speech", strings.Repeat("Speech", 20): "",
	} {
		if got := Nearest(typed, names); got != want {
			t.Errorf("Nearest(%s) = %q, want %q", typed, got, want)
		}
	}
}
