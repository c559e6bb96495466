package pose

// View is an immutable look at the store: the structure, calibrations, anchors and
// replaced samples as they were in a revision, and of every history the samples
// that were there when the view was made. It is safe for concurrent use.
type View struct {
	store  *Store
	state  *state
	later  []*content // of the revisions since, in which histories go on
	frozen *frozen
}

// AsOf selects the revision of a view.
type AsOf Revision

// View returns a look at the store as of a revision. The error is TooOld for a
// revision that is retained no more (see Config.Revisions) and TooNew for one that
// does not exist yet. A view keeps what it shows in memory.
func (s *Store) View(rev AsOf) (*View, error) {
	st, err := s.states.of(Revision(rev))
	if err != nil {
		return nil, err
	}
	v := s.viewOf(st, revisionNow, nil)
	v.freeze()
	return v, nil
}

// viewOf returns a view of a state, with the samples that are known in the revision
// top, and takes what it lacks of them from ice.
func (s *Store) viewOf(st *state, top Revision, ice *frozen) *View {
	v := &View{store: s, state: st, frozen: ice}
	if st.rev >= min(s.Revision(), top) {
		return v
	}
	for _, later := range s.states.all() {
		if later.rev > st.rev && later.rev <= top {
			v.later = append(v.later, later.content)
		}
	}
	return v
}

// Now returns a view of the current revision.
func (s *Store) Now() *View { return s.showing(s.states.now()) }

// showing returns a view of a current state.
func (s *Store) showing(st *state) *View {
	v := &View{store: s, state: st}
	v.freeze()
	return v
}

// Revision returns the revision the view shows.
func (v *View) Revision() Revision { return v.state.rev }

// Path resolves the way between two frames in the view; see [Store.Path].
func (v *View) Path(target, source string) (*Path, error) {
	return v.store.newPath(v, v.state.content, target, source)
}
