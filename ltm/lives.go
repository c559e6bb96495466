package ltm

import "slices"

// maxLives bounds the lives that are noted; of earlier ones the order is told by the
// names of their episodes.
const maxLives = 4096

// noteLife notes that a life of the memory server begins, so that lives are known in
// their order whatever the clock says. What cannot be noted, such as on a full disk,
// is told apart by arrival.
func (s *Store) noteLife(epoch uint64) {
	err := s.changeState(func(c *stateContent) {
		c.Lives = append(slices.Clone(c.Lives), epoch)
		c.Lives = c.Lives[max(0, len(c.Lives)-maxLives):]
	})
	if err != nil {
		s.options.Log.Warn("the beginning of a life of the server cannot be noted", "error", err)
	}
}

// Previous returns the life before this one, 0 if it is not known.
func (s *Store) Previous() uint64 {
	i := s.lifeIndex(s.wm.Epoch())
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	if i < 1 {
		return 0
	}
	return s.state.mu.Lives[i-1]
}

// InOrder reports whether a life of the server was before another one; known is false if
// one of them is not noted.
func (s *Store) InOrder(life, other uint64) (before, known bool) {
	lives := s.lives()
	i, k := slices.Index(lives, life), slices.Index(lives, other)
	return i < k, i >= 0 && k >= 0
}

// lifeIndex returns the place of a life among those that are noted, -1 if it is not.
func (s *Store) lifeIndex(epoch uint64) int {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return slices.Index(s.state.mu.Lives, epoch)
}

// lives returns the lives that are noted, in their order. The slice is shared: not to be
// changed.
func (s *Store) lives() []uint64 {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	return s.state.mu.Lives
}
