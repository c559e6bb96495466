package rpc

import "github.com/seed-301d4374/engram"

// split calls emit with parts of a result that hold about limit bytes each, and
// at least one node or snapshot. Together they are the result. A result within
// the limit is handed on as it is.
func split(r *engram.Result, limit int, emit func(*engram.Result) error) error {
	if resultSize(r.Memories, limit) <= limit {
		return emit(r)
	}
	s := &splitter{limit: limit, emit: emit}
	s.part.Missing = r.Missing
	if err := s.nodes(r.Memories, 0); err != nil {
		return err
	}
	return s.flush()
}

// nodeCost is what a node or snapshot costs beside its name and payload, about.
const nodeCost = 32

// resultSize returns the size of the nodes, or more than limit as soon as it is.
func resultSize(nodes []*engram.ResultNode, limit int) int {
	n := 0
	for _, node := range nodes {
		n += nodeCost + len(node.Name)
		for _, s := range node.Snapshots {
			n += nodeCost + s.Size()
		}
		if n > limit {
			return n
		}
		n += resultSize(node.Children, limit-n)
	}
	return n
}

type splitter struct {
	limit int
	emit  func(*engram.Result) error
	part  engram.Result
	size  int
	open  []*engram.ResultNode // the path in part to where the walk is
	names []string             // the same path in the result
}

func (s *splitter) nodes(nodes []*engram.ResultNode, depth int) error {
	for _, n := range nodes {
		s.names = append(s.names[:depth], n.Name)
		s.open = s.open[:min(depth, len(s.open))]
		if err := s.room(nodeCost + len(n.Name)); err != nil {
			return err
		}
		s.reach()
		for _, snap := range n.Snapshots {
			if err := s.room(nodeCost + snap.Size()); err != nil {
				return err
			}
			s.reach()
			entity := s.open[depth]
			entity.Snapshots = append(entity.Snapshots, snap)
		}
		if err := s.nodes(n.Children, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// room makes room for n more bytes.
func (s *splitter) room(n int) error {
	if s.size > 0 && s.size+n > s.limit {
		if err := s.flush(); err != nil {
			return err
		}
	}
	s.size += n
	return nil
}

// reach opens the nodes on the walk's path that the part does not have yet.
func (s *splitter) reach() {
	for len(s.open) < len(s.names) {
		n := &engram.ResultNode{Name: s.names[len(s.open)]}
		if len(s.open) == 0 {
			s.part.Memories = append(s.part.Memories, n)
		} else {
			parent := s.open[len(s.open)-1]
			parent.Children = append(parent.Children, n)
		}
		s.open = append(s.open, n)
	}
}

func (s *splitter) flush() error {
	part := s.part
	s.part, s.size, s.open = engram.Result{}, 0, s.open[:0]
	return s.emit(&part)
}
