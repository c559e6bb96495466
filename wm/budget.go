package wm

import "github.com/seed-301d4374/engram"

// Budget is what a memory may take of RAM, and takes.
type Budget struct {
	Memory string
	Bound  int64 // bytes that it never takes more than
	Bytes  int64 // that it may take now, see [Values.SetBudget]
	Held   int64 // that it takes
}

// valued is how many entities of a memory its value is averaged over.
const valued = 4096

// Budgets returns the budgets of the memories with a bound in bytes, by name.
func (x Values) Budgets() (list []Budget) {
	w := x.w
	for _, m := range w.memories.sorted() {
		b := Budget{Memory: m.name, Bound: m.value.bounds.MaxBytes}
		w.mu.Lock()
		b.Bytes, b.Held = m.value.budget, m.value.held.cost
		w.mu.Unlock()
		if b.Bound > 0 {
			list = append(list, b)
		}
	}
	return list
}

// Mean returns by how much the bounds of a memory's entities are stretched, averaged over some
// of them: 1 where nobody asks for them, or if there is no such memory.
func (x Values) Mean(memory string) float64 {
	m, ok := x.w.memories.Get(memory)
	if !ok || m.part.Load() == 0 {
		return 1
	}
	number := x.w.number.Load()
	sum, n := 0.0, 0
	for _, c := range m.cores.sorted() {
		for _, p := range c.value.providers.sorted() {
			for e := range p.value.entities.any {
				sum += e.stretch(number)
				if n++; n == valued {
					return sum / float64(n)
				}
			}
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// SetBudget sets how many bytes a memory may take now: at most its bound, and as its bound
// else, but that a memory that keeps newest states forgets and refuses none for it. What is
// beyond it is evicted before SetBudget returns, in several holds of the lock.
func (x Values) SetBudget(name string, bytes int64) error {
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.memories.Get(name)
	switch {
	case !ok:
		return engram.Errorf(engram.NotFound, name, "there is no such memory here")
	case m.bounds.MaxBytes == 0:
		return engram.Errorf(engram.Unsupported, name, "the memory has no bound in bytes, and so no budget")
	case bytes <= 0:
		return engram.Errorf(engram.Invalid, name, "a budget of %d bytes; it is at least 1", bytes)
	}
	m.budget = min(bytes, m.bounds.MaxBytes)
	for n := 1; m.beyond(&m.held); n++ {
		v := m.victimLocked(w.mu.number)
		if v == nil {
			break
		}
		v.entity.dropLocked(v, w.mu.number)
		if n%evictBatch == 0 {
			w.mu.Unlock()
			w.mu.Lock()
		}
	}
	return nil
}

// evictBatch is how many versions SetBudget evicts under one hold of the lock.
const evictBatch = 64
