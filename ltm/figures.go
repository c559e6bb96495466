package ltm

// Figures are what operators watch of a store beside its [Stats]. Getting them costs
// next to nothing.
type Figures struct {
	Behind     uint64 // updates that the recorder has still to see
	Stalled    bool   // the recorder waits for the disk
	Recorded   uint64 // number of the newest update that the recorder has seen
	Lost       uint64 // versions that could not be recorded in this life
	LogBytes   int64  // of the log's files
	LogFailing int    // logs that cannot be written just now
}

// Figures returns the figures; all are 0 before [Store.Begin].
func (s *Store) Figures() Figures {
	if !s.begun.Load() || s.recorder == nil {
		return Figures{}
	}
	p := &s.recorder.progress
	f := Figures{Recorded: p.done.Load(), Lost: s.recorder.counts.lost.Load()}
	p.mu.Lock()
	f.Stalled = p.stalled
	p.mu.Unlock()
	if newest := p.told(s.wm.Number()); newest > f.Recorded {
		f.Behind = newest - f.Recorded
	}
	for _, memory := range s.journal.Memories() {
		log := s.journal.Log(memory)
		f.LogBytes += log.Size()
		if log.Failure() != nil {
			f.LogFailing++
		}
	}
	return f
}

// Health says what does not work just now; nothing if all does.
func (s *Store) Health() []string { return s.health.list() }
