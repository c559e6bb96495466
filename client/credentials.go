package client

import (
	"os"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/access/credentials"
	"github.com/seed-301d4374/engram/transport"
)

// CredentialsVariable is the environment variable that names a file of credentials.
const CredentialsVariable = "ENGRAM_CREDENTIALS"

// loadCredentials reads the file of credentials, unless the program has given them.
func (o *Options) loadCredentials() (err error) {
	file := o.Credentials
	if file == "" {
		file = os.Getenv(CredentialsVariable)
	}
	if o.Dial.Credentials != nil || file == "" {
		return nil
	}
	o.Dial.Credentials, err = credentials.Load(file, nil)
	return err
}

// asIdentity leaves out of a server's addresses those at which it would take this
// program for its user, not for whom its credentials say. A program that reached its
// home by a Unix socket is content with that.
func (c *Client) asIdentity(addresses []string) []string {
	if c.o.Dial.Credentials == nil || strings.HasPrefix(c.home.address, "unix:") {
		return addresses
	}
	return slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
		return transport.IsLocal(a) || strings.HasPrefix(a, "unix:")
	})
}
