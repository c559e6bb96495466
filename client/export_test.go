package client

// Knows reports whether a client knows where a memory is without asking anybody.
func Knows(c *Client, memory string) bool {
	h := c.routes().find(memory)
	return h != nil && h.owner != nil
}
