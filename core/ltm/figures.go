package ltm

// Figures are what operators watch of a store beside its [Stats]. Getting them costs
// next to nothing.
type Figures struct {
	Behind     uint64 // updates that the recorder has still to see
	Stalled    bool   // what is recorded, or sealed, waits for the disk; at the end, what is logged, too
	Recorded   uint64 // number of the newest update that the recorder has seen
	Lost       uint64 // versions that could not be recorded in this epoch
	LogBytes   int64  // of the log's files
	LogFailing int    // logs that cannot be written just now
	LogLosses  int    // what logs have lost, in this epoch and earlier ones
	Closing    bool   // Close was called
	Undigested int    // sealed episodes whose payloads are read to fill a secondary index; nothing is kept beside them yet
}

// Figures returns the figures; all are 0 before [Store.Begin].
func (a *administration) Figures() Figures {
	if !a.begun.Load() || a.recorder == nil {
		return Figures{}
	}
	p := &a.recorder.progress
	f := Figures{LogLosses: len(a.account.logLosses), Closing: a.closing.Load(), Recorded: p.done.Load(), Lost: a.recorder.counts.lost.Load()}
	p.mu.Lock()
	f.Stalled = p.stalled || a.recorder.sealer.stalled.Load()
	p.mu.Unlock()
	if newest := p.told(a.wm.Number()); newest > f.Recorded {
		f.Behind = newest - f.Recorded
	}
	for _, memory := range a.logs.Memories() {
		log := a.logs.Log(memory)
		f.LogBytes += log.Size()
		if log.Failure() != nil {
			f.LogFailing++
		}
	}
	f.Undigested = len(undigested(a.disk.episodes.current(), a.wm.Indexes().Digesters()))
	f.Stalled = f.Stalled || f.Closing && f.LogFailing > 0
	return f
}

// Health says what does not work just now; nothing if all does.
func (a *administration) Health() []string { return append(a.health.list(), a.repairer.damages()...) }
