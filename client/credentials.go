package client

import (
	"os"
	"slices"
	"strings"

	"github.com/seed-301d4374/engram/core/access/credentials"
	"github.com/seed-301d4374/engram/edge/transport"
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

// asIdentity drops the addresses at which a server knows this program by its local user,
// not by its credentials. A program whose home is a Unix socket keeps them.
func (c *router) asIdentity(addresses []string) []string {
	if c.o.Dial.Credentials == nil || strings.HasPrefix(c.home.address, "unix:") {
		return addresses
	}
	return slices.DeleteFunc(slices.Clone(addresses), func(a string) bool {
		return transport.IsLocal(a) || strings.HasPrefix(a, "unix:")
	})
}
