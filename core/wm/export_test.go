package wm

// Held returns how many snapshots and superseded versions a memory counts against
// its bounds.
func (w *WM) Held(memory string) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, _ := w.memories.Get(memory)
	return m.held.versions()
}

// What things cost, for models.
var (
	VersionCost  = versionCost
	EntityCost   = entityCost
	ProviderCost = providerCost
)
