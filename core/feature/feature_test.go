package feature_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/access"
	"github.com/seed-301d4374/engram/core/feature"
	"github.com/seed-301d4374/engram/core/ltm/admin"
	longterm "github.com/seed-301d4374/engram/core/ltm/api"
	copies "github.com/seed-301d4374/engram/fleet/copies/api"
	"github.com/seed-301d4374/engram/fleet/copies/contract"
	pull "github.com/seed-301d4374/engram/fleet/copies/source/api"
	engramv1 "github.com/seed-301d4374/engram/gen/engram/v1"
	"github.com/seed-301d4374/engram/internal/testkit/serving"
	"github.com/seed-301d4374/engram/mind/pose"
	poses "github.com/seed-301d4374/engram/mind/pose/api"
	"github.com/seed-301d4374/engram/mind/pose/lookup"
)

// offered are the features of this module. What answers their calls must not be reached.
func offered() []feature.Feature {
	return []feature.Feature{
		poses.Feature(struct{ lookup.Service }{}),
		longterm.Feature(struct{ admin.Service }{}),
		copies.Feature(noCopies{}),
		pull.Feature(struct{ contract.Source }{}),
	}
}

type noCopies struct{ contract.Admin }

func (noCopies) CopyStatus(context.Context) ([]contract.Status, error) { return nil, nil }

func rules(t *testing.T, text string) *access.Control {
	t.Helper()
	policy, err := access.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c := access.New(access.Options{})
	if err := c.Set(policy); err != nil {
		t.Fatal(err)
	}
	return c
}

// silent is a client that sends one message and nothing more.
type silent struct{ rest []proto.Message }

func (s *silent) Receive() (proto.Message, error) {
	if len(s.rest) == 0 {
		return nil, io.EOF
	}
	m := s.rest[0]
	s.rest = s.rest[1:]
	return m, nil
}
func (*silent) Send(proto.Message) error { return nil }
func (*silent) CloseReceive()            {}
func (*silent) Patience() time.Duration  { return time.Minute }

// do makes a call with an empty request.
func do(ctx context.Context, c *feature.Call) error {
	switch {
	case c.Unary != nil:
		_, err := c.Unary(ctx, c.NewRequest())
		return err
	case c.Stream != nil:
		return c.Stream(ctx, c.NewRequest(), func(proto.Message) error { return nil })
	}
	return c.Pipe(ctx, &silent{rest: []proto.Message{c.NewRequest()}})
}

// Each procedure of the services is offered once, and who has no rights can make none of
// the calls but those that are answered within what one may see.
func TestEveryCallHasARule(t *testing.T) {
	control := rules(t, "rules: [{allow: all, to: somebody, on: '*'}]")
	ctx := access.WithIdentity(t.Context(), "nobody")
	within := map[string]bool{"/engram.v1.CopyService/ListCopies": true, "/engram.v1.CopyService/Pull": true}
	found := map[string]int{}
	services := map[string]bool{}
	for _, f := range offered() {
		services[f.Service] = true
		guarded := f.Guarded(control)
		for i := range guarded.Calls {
			c := &guarded.Calls[i]
			procedure := f.Procedure(c)
			found[procedure]++
			if err := do(ctx, c); engram.CodeOf(err) != engram.Forbidden && !within[procedure] {
				t.Errorf("%s of who has no rights: %v", procedure, err)
			}
		}
	}
	for name := range services {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Fatal(err)
		}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			m := methods.Get(i)
			procedure := "/" + name + "/" + string(m.Name())
			if found[procedure] != 1 {
				t.Errorf("%s is offered %d times", procedure, found[procedure])
			}
			if feature.SendsMany(procedure) != m.IsStreamingClient() {
				t.Errorf("%s: SendsMany is wrong", procedure)
			}
		}
	}
}

// A call that says nothing of who may make it may be made by nobody, and one that is
// asked for beyond the API is a defect of the program.
func TestCallWithoutARule(t *testing.T) {
	answers := func(context.Context, *engramv1.TreeRequest) (*engramv1.TreeResponse, error) {
		return &engramv1.TreeResponse{}, nil
	}
	f := feature.New("engram.v1.PoseService", feature.Unary("Tree", feature.Rule{}, answers))
	if err := do(t.Context(), &f.Calls[0]); err != nil {
		t.Errorf("without rules in force: %v", err)
	}
	guarded := f.Guarded(rules(t, "rules: [{allow: all, to: somebody, on: '*'}]"))
	if err := do(access.WithIdentity(t.Context(), "somebody"), &guarded.Calls[0]); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("with rules in force: %v", err)
	}
	for what, calls := range map[string]func() feature.Feature{
		"no such service":   func() feature.Feature { return feature.New("engram.v1.None") },
		"no such procedure": func() feature.Feature { return feature.New(f.Service, feature.Unary("None", feature.Rule{}, answers)) },
		"of another's request": func() feature.Feature {
			return feature.New(f.Service, feature.Unary("LookUp", feature.Rule{}, answers))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			calls()
		}()
	}
}

// A stream ends when the rights of its caller change, and says why.
func TestStreamEndsWithItsRights(t *testing.T) {
	const may, may2 = "rules: [{allow: read, to: eye, on: '*'}]", "rules: [{allow: [read, write], to: eye, on: '*'}]"
	control := rules(t, may)
	begun := make(chan struct{})
	waits := func(ctx context.Context, _ *engramv1.WatchPosesRequest, _ func(*engramv1.WatchPosesResponse) error) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
	f := feature.New("engram.v1.PoseService", feature.Stream("WatchPoses", feature.Needs(access.Need{Actions: access.Read}), waits)).Guarded(control)
	ended := make(chan error, 1)
	go func() { ended <- do(access.WithIdentity(t.Context(), "eye"), &f.Calls[0]) }()
	<-begun
	policy, err := access.Parse([]byte(may2))
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Set(policy); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; engram.CodeOf(err) != engram.Unavailable || errors.Is(err, context.Canceled) {
		t.Errorf("the stream ended with %v", err)
	}
}

// A call within the process is made as over a connection: by its rule, and with its own error.
func TestWithin(t *testing.T) {
	revisions := lookup.Revisions{Life: 7}
	s := feature.Guard(offering{serving.New(t), []feature.Feature{poses.Feature(keeper{revisions: revisions})}},
		rules(t, "rules: [{allow: read, to: somebody, on: RobotState}]"))
	client := poses.NewClient(feature.Within(s))
	got, err := client.Revisions(access.WithIdentity(t.Context(), "somebody"))
	if err != nil || got.Life != revisions.Life {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := client.Revisions(access.WithIdentity(t.Context(), "nobody")); engram.CodeOf(err) != engram.Forbidden {
		t.Errorf("who has no rights: %v", err)
	}
	if _, err := client.Watch(t.Context(), pose.Changes{}, nil); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a call of several answers: %v", err)
	}
	if _, err := poses.NewClient(feature.Within(serving.New(t))).Revisions(t.Context()); engram.CodeOf(err) != engram.Unsupported {
		t.Errorf("a call that is not offered: %v", err)
	}
}

// offering is a server that offers features.
type offering struct {
	engram.Server
	features []feature.Feature
}

func (o offering) Features() []feature.Feature { return o.features }

// keeper keeps no poses.
type keeper struct {
	lookup.Service
	revisions lookup.Revisions
}

func (k keeper) Revisions(context.Context) (lookup.Revisions, error) { return k.revisions, nil }
