package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/fleet/backbone"
)

// Backbone looks whether the NATS server of a URL can be used as a backbone.
func Backbone(ctx context.Context, natsURL string, connect func(ctx context.Context) error, o Options) (found Findings) {
	o = o.withDefaults()
	shown := backbone.Redacted(natsURL)
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	err := connect(ctx)
	if err == nil {
		found.ok("backbone", "the backbone "+shown+" answers")
		return found
	}
	for text := range strings.SplitSeq(natsURL, ",") {
		if u, parseErr := url.Parse(strings.TrimSpace(text)); parseErr == nil && u.Host != "" {
			if problem := greets(ctx, withPort(u, "4222")); problem != nil {
				found.problem("backbone", fmt.Sprintf("the backbone %s cannot be reached: %s", backbone.Redacted(text), problem), "start it there ('engram serve --backbone embedded --backbone-listen host:port'), and check that no firewall is between")
				return found
			}
		}
	}
	switch text := err.Error(); {
	case o.Dial.Credentials == nil && (strings.Contains(text, "x509:") || strings.Contains(text, "tls:")):
		found.problem("backbone", fmt.Sprintf("the backbone %s lets in only who says who they are", shown), doCredentials)
	case o.Dial.Credentials != nil && strings.Contains(text, "Authorization Violation"):
		found.problem("backbone", fmt.Sprintf("the backbone %s does not let this identity in", shown), "it is for servers and for who may read everything; let this program connect to a server instead")
	default:
		found.problem("backbone", fmt.Sprintf("the backbone %s cannot be used: %s", shown, cause(err)), "check the user, password or credentials, and that JetStream is on")
	}
	return found
}

// Leaf looks whether a base station's leaf listener can be reached.
func Leaf(ctx context.Context, leafURL string, o Options) (found Findings) {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	shown := backbone.Redacted(leafURL)
	u, err := url.Parse(leafURL)
	if err != nil || u.Host == "" {
		found.problem("leaf", shown+" is no URL", "write nats-leaf://host:port")
		return found
	}
	info, err := greeting(ctx, withPort(u, "7422"))
	switch {
	case err != nil:
		found.warn("leaf", fmt.Sprintf("the base station %s cannot be reached: %s", shown, cause(err)), "the robot works on alone and connects when it is there; look at its --leaf-listen, the link and the firewall if it should be")
	case !info.LeafNode:
		found.problem("leaf", "what listens at "+shown+" is no leaf listener: programs connect there, not robots", "give the port of the base station's --leaf-listen")
	default:
		found.ok("leaf", "the base station "+shown+" answers")
	}
	return found
}

// natsInfo is of what a NATS server says first.
type natsInfo struct {
	LeafNode bool // robots connect there, not programs
}

// greets returns why no NATS server says its first word at an address.
func greets(ctx context.Context, address string) error {
	_, err := greeting(ctx, address)
	return err
}

func greeting(ctx context.Context, address string) (info natsInfo, err error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return info, errors.New(cause(err))
	}
	defer nc.Close()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(3 * time.Second)
	}
	nc.SetReadDeadline(deadline)
	line, err := bufio.NewReaderSize(nc, 64<<10).ReadSlice('\n')
	text, isInfo := strings.CutPrefix(string(line), "INFO ")
	if err != nil || !isInfo {
		return info, engram.Errorf(engram.Unsupported, address, "what listens there is no NATS server")
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return info, engram.Errorf(engram.Unsupported, address, "what listens there is no NATS server: %w", err)
	}
	for _, told := range []string{"leafnode_urls", "info_on_connect", "compression"} { // to leaf nodes only
		if _, ok := raw[told]; ok {
			info.LeafNode = true
		}
	}
	return info, nil
}

func withPort(u *url.URL, port string) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), port)
}
