package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The rate that a bar shows is that since the work began, also the first time.
func TestBarShowsTheRateFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		bar := newBar(&out, "import", false)
		time.Sleep(200 * time.Millisecond)
		bar.set(20e6, 1e9)
		if text := out.String(); !strings.Contains(text, "100 MB/s") {
			t.Errorf("after 20 MB in 0.2 s it shows %q", text)
		}
		out.Reset()
		for range 10 {
			time.Sleep(200 * time.Millisecond)
			bar.set(bar.bar.State().CurrentNum+20e6, 1e9)
		}
		if text := out.String(); !strings.HasSuffix(text[:strings.LastIndex(text, " [")], "(100 MB/s)") {
			t.Errorf("after 2 s more at this rate it shows %q", text)
		}
	})
}
