package client

import (
	"context"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/copies/service"
)

// Copies administers the copies that the server which offers the name system holds.
// Calls return Unsupported if it holds none, or if the names come from the backbone
// itself.
func (c *Client) Copies() service.Admin {
	if c.home.server == nil {
		return noCopies{}
	}
	return c.home.server.Copies()
}

// noCopies answers where there is no server to hold copies.
type noCopies struct{}

func errNoHolder() error {
	return engram.Errorf(engram.Unsupported, "", "this client is on the backbone; connect to the server that is to hold the copy")
}

func (noCopies) AddCopy(context.Context, service.Copy) error          { return errNoHolder() }
func (noCopies) RemoveCopy(context.Context, string, bool) error       { return errNoHolder() }
func (noCopies) CopyStatus(context.Context) ([]service.Status, error) { return nil, errNoHolder() }
func (noCopies) Fetch(context.Context, service.Fetching) (service.Fetched, error) {
	return service.Fetched{}, errNoHolder()
}
