package credentials

import (
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-301d4374/engram"
)

func TestServing(t *testing.T) {
	bound := Serving{Own: []string{"robot1:Object", "arm*:*"}, Copies: []string{"*:Vision"}}
	for _, tt := range []struct {
		s     Serving
		claim Claim
		want  bool
	}{
		{Serving{}, Claim{Robot: "any", Memory: "Any"}, true},
		{Serving{}, Claim{Robot: "any", Memory: "Any", Copy: true}, true},
		{bound, Claim{Robot: "robot1", Memory: "Object"}, true},
		{bound, Claim{Robot: "robot1", Memory: "Object", Copy: true}, true},
		{bound, Claim{Robot: "robot1", Memory: "Objects"}, false},
		{bound, Claim{Robot: "robot11", Memory: "Object"}, false},
		{bound, Claim{Robot: "robot2", Memory: "Object"}, false},
		{bound, Claim{Robot: "arm-2", Memory: "RobotState"}, true},
		{bound, Claim{Robot: "robot2", Memory: "Vision", Copy: true}, true},
		{bound, Claim{Robot: "robot2", Memory: "Vision"}, false},
		{bound, Claim{Robot: "robot2", Memory: "Object", Copy: true}, false},
		{bound, Claim{Memory: "Object"}, true}, // of a robot without a name
		{Serving{Own: []string{"Object"}}, Claim{Robot: "robot2", Memory: "Object"}, true},
		{Serving{Own: []string{"Object"}}, Claim{Robot: "robot2", Memory: "Vision"}, false},
	} {
		if got := tt.s.Allows(tt.claim); got != tt.want {
			t.Errorf("%v allows %v: %v", tt.s, tt.claim, got)
		}
	}
	for _, bad := range []Serving{
		{Own: []string{""}}, {Own: []string{":Object"}}, {Own: []string{"robot1:"}}, {Own: []string{"a:b:c"}}, {Own: []string{"robot1:Object/Instance"}},
		{Copies: []string{"*"}}, {Own: make([]string, maxServing+1)},
	} {
		if err := bad.Check(); err == nil {
			t.Errorf("%q is accepted", bad.Own)
		}
	}
}

// What is said when a certificate is ordered is what it is believed for, whatever the
// names are, also after it was written and read.
func TestServingOfCertificates(t *testing.T) {
	ca, err := NewAuthority("test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := Serving{Own: []string{"robot1:*", "robot1:Ünï cøde%25*"}, Copies: []string{"robot*:*"}}
	b, err := ca.Issue("robot1", true, want, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Parse(text); err != nil {
		t.Fatal(err)
	}
	if got, err := ServingOf(b.Cert); err != nil || got.String() != want.String() {
		t.Errorf("%v %v", got, err)
	}
	if id, err := b.Identity(); err != nil || id != "robot1" {
		t.Errorf("%v %v", id, err)
	}
	err = Believe(b.Cert, []Claim{{Robot: "robot1", Memory: "Object"}, {Robot: "robot2", Memory: "Object"}})
	if !errors.Is(err, ErrNotBelieved) || engram.CodeOf(err) != engram.Forbidden || !strings.Contains(err.Error(), "robot2:Object") || !strings.Contains(err.Error(), "robot1:*") {
		t.Errorf("%v", err)
	}
	if err := Believe(b.Cert, []Claim{{Robot: "robot1", Memory: "Object"}, {Robot: "robot2", Memory: "Object", Copy: true}}); err != nil {
		t.Error(err)
	}
	// What cannot be understood is not taken for what says nothing.
	for _, uri := range []string{"serve:%zz", "serve:", "hold:*"} {
		bad := &x509.Certificate{URIs: []*url.URL{{Scheme: "engram", Opaque: uri}}}
		if err := Believe(bad, nil); !errors.Is(err, ErrNotBelieved) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if old, err := ca.Issue("robot1", true, Serving{}, time.Hour); err != nil || Believe(old.Cert, []Claim{{Robot: "robot2", Memory: "Object"}}) != nil {
		t.Error("a certificate from before is worth nothing", err)
	}
}
