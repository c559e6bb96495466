package pose

// CheckFixed returns the error that [Store.Fixed] would return. Nothing changes.
func (s *Store) CheckFixed(parent, child string, p Pose, cov Cov) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draftLocked().fixed(parent, child, p, cov, nil)
}
