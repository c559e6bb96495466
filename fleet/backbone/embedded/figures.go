package embedded

// Figures are what operators watch of a server.
type Figures struct {
	Clients   int // connections of servers and programs
	LeafNodes int // connections of and to leaf nodes
	Routes    int // connections to other servers of the cluster
	Leafs     int // base stations that this server is to be a leaf node of
}

// Figures returns the figures.
func (e *Server) Figures() Figures {
	clients := e.s.NumClients()
	if e.asks != nil {
		clients-- // its own
	}
	return Figures{Clients: clients, LeafNodes: e.s.NumLeafNodes(), Routes: e.s.NumRoutes(), Leafs: min(len(e.o.LeafOf), 1)}
}
