package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/client"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/edge/transport/rpc"
	"github.com/seed-301d4374/engram/fleet/mns"
	"github.com/seed-301d4374/engram/internal/testkit"
)

// A program leaves a server that is revoked, and does not come back, as soon as the
// server that it is at home with knows, or its own file says so.
func TestRevokedServersAreLeft(t *testing.T) {
	for _, source := range []string{"told at home", "file"} {
		t.Run(source, func(t *testing.T) {
			d := newDeployment(t)
			names := &told{}
			home := d.serve(t, "base", credentials.Serving{}, names, rpc.Options{}, "Own")
			stolen := d.serve(t, "stolen", credentials.Serving{}, nil, rpc.Options{}, "Object")
			kept := d.serve(t, "kept", credentials.Serving{}, nil, rpc.Options{}, "Object")
			names.say(stolen.at("robot1", "Object"), kept.at("robot2", "Object"),
				mns.Entry{Memory: "Own", Robot: "base", Server: home.name, Addresses: []string{home.address}})
			o := client.Options{Address: home.address, DetectionTimeout: patience, Dial: rpc.DialOptions{Credentials: d.program(t)}}
			file := filepath.Join(t.TempDir(), "access.yaml")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if source == "file" {
				o.Access = file
			}
			revoke := func(text string) {
				t.Helper()
				if source == "file" {
					if err := access.WriteFile(file, []byte(text)); err != nil {
						t.Fatal(err)
					}
					return
				}
				p, err := access.Parse([]byte(text))
				if err == nil {
					err = home.rules.Set(p)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			c, err := client.Connect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			s, err := c.Subscribe(t.Context(), engram.Subscription{Patterns: []engram.Pattern{engram.MustPattern("robot1:Object")}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			testkit.Commit(t, stolen, testkit.Update(t, entity("Object"), 1, 1))
			testkit.Commit(t, kept, testkit.Update(t, entity("Object"), 1, 1))
			testkit.Next(t, s, 1)

			revoke("revoked: [{serial: " + credentials.SerialOf(stolen.cert) + "}]")
			ctx := testkit.Context(t)
			if _, err := s.Next(ctx); engram.CodeOf(err) != engram.Forbidden {
				t.Fatalf("a subscription to a revoked server: %v", err)
			}
			latest := func(memory string) error {
				_, err := c.Latest(t.Context(), engram.MustID(entity(memory)))
				return err
			}
			if err := latest("robot1:Object"); engram.CodeOf(err) != engram.Forbidden || !strings.Contains(err.Error(), "revoked") {
				t.Errorf("the latest of a revoked server: %v", err)
			}
			if err := latest("robot2:Object"); err != nil {
				t.Errorf("the latest of another: %v", err)
			}
			another, err := client.Connect(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer another.Close()
			if _, err := another.Latest(t.Context(), engram.MustID(entity("robot1:Object"))); engram.CodeOf(err) != engram.Forbidden {
				t.Errorf("a client that comes later: %v", err)
			}

			// A mistake that is taken back.
			revoke("revoked: []")
			testkit.Until(t, func() (string, bool) {
				err := latest("robot1:Object")
				return "it is still not believed", err == nil
			})
		})
	}
	t.Run("home, told by itself", func(t *testing.T) {
		d := newDeployment(t)
		names := &told{}
		home := d.serve(t, "base", credentials.Serving{}, names, rpc.Options{}, "Own")
		names.say(mns.Entry{Memory: "Own", Robot: "base", Server: home.name, Addresses: []string{home.address}})
		testkit.Commit(t, home, testkit.Update(t, entity("Own"), 1, 1))
		c, err := client.Connect(t.Context(), client.Options{Address: home.address, Dial: rpc.DialOptions{Credentials: d.program(t)}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, step := range []struct {
			revoked []access.Revocation
			code    engram.Code
		}{
			{[]access.Revocation{{Identity: "base"}}, engram.Forbidden},
			{nil, 0}, // it was a mistake
			{[]access.Revocation{{Serial: credentials.SerialOf(home.cert)}, {Identity: "other"}}, engram.Forbidden},
			{[]access.Revocation{{Identity: "other"}}, 0},
		} {
			if err := home.rules.Set(access.Policy{Revoked: step.revoked}); err != nil {
				t.Fatal(err)
			}
			testkit.Until(t, func() (string, bool) {
				_, err := c.Latest(t.Context(), engram.MustID(entity("Own")))
				return fmt.Sprintf("with %v revoked: %v", step.revoked, err), engram.CodeOf(err) == step.code
			})
		}
	})
	t.Run("told at another's home", func(t *testing.T) {
		d := newDeployment(t)
		lenient, strict := &told{}, &told{}
		lenientHome := d.serve(t, "lenient", credentials.Serving{}, lenient, rpc.Options{}, "Own")
		strictHome := d.serve(t, "strict", credentials.Serving{}, strict, rpc.Options{}, "Own")
		server := d.serve(t, "server", credentials.Serving{}, nil, rpc.Options{}, "Object")
		testkit.Commit(t, server, testkit.Update(t, entity("Object"), 1, 1))
		lenient.say(server.at("robot1", "Object"))
		strict.say(server.at("robot1", "Object"))
		if err := strictHome.rules.Set(access.Policy{Revoked: []access.Revocation{{Identity: "server"}}}); err != nil {
			t.Fatal(err)
		}
		shared := d.program(t)
		for address, code := range map[string]engram.Code{lenientHome.address: 0, strictHome.address: engram.Forbidden} {
			c, err := client.Connect(t.Context(), client.Options{Address: address, DetectionTimeout: patience, Dial: rpc.DialOptions{Credentials: shared}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			defer func() { // when both are at home
				if _, err := c.Latest(t.Context(), engram.MustID(entity("robot1:Object"))); engram.CodeOf(err) != code {
					t.Errorf("at home at %s: %v", address, err)
				}
			}()
		}
	})
	t.Run("home, by the file", func(t *testing.T) {
		d := newDeployment(t)
		home := d.serve(t, "base", credentials.Serving{}, &told{}, rpc.Options{}, "Own")
		file := filepath.Join(t.TempDir(), "access.yaml")
		if err := os.WriteFile(file, []byte("revoked: [{identity: base}]"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv(client.AccessVariable, file)
		if c, err := client.Connect(t.Context(), client.Options{Address: home.address, Dial: rpc.DialOptions{Credentials: d.program(t)}}); engram.CodeOf(err) != engram.Forbidden {
			if err == nil {
				c.Close()
			}
			t.Errorf("a revoked home: %v", err)
		}
		t.Setenv(client.AccessVariable, file+"x")
		if _, err := client.Connect(t.Context(), client.Options{Address: home.address, Dial: rpc.DialOptions{Credentials: d.program(t)}}); engram.CodeOf(err) != engram.NotFound {
			t.Errorf("a file that is not there: %v", err)
		}
	})
}
