package ltm

import "slices"

// maxLives bounds the epochs that are noted; of earlier ones the order is told by the
// names of their episodes.
const maxLives = 4096

// noteLife notes that an epoch of the memory server begins, so that lives are known in
// their order whatever the clock says. What cannot be noted, such as on a full disk,
// is told apart by arrival.
func (p *past) noteLife(epoch uint64) {
	err := p.state.change(func(c *stateContent) {
		c.Lives = append(slices.Clone(c.Lives), epoch)
		c.Lives = c.Lives[max(0, len(c.Lives)-maxLives):]
	})
	if err != nil {
		p.options.Log.Warn("the beginning of an epoch of the server cannot be noted", "error", err)
	}
	p.publishState()
}

// Previous returns the epoch before this one, 0 if it is not known.
func (p *past) Previous() uint64 {
	v := p.disk.episodes.current()
	i := v.lifeIndex(p.wm.Epoch())
	if i < 1 {
		return 0
	}
	return v.lives[i-1]
}

// InOrder reports whether an epoch of the server was before another one; known is false if
// one of them is not noted.
func (p *past) InOrder(life, other uint64) (before, known bool) {
	v := p.disk.episodes.current()
	i, k := v.lifeIndex(life), v.lifeIndex(other)
	return i < k, i >= 0 && k >= 0
}

// lifeIndex returns the place of an epoch among those that are noted, -1 if it is not.
func (v *version) lifeIndex(epoch uint64) int { return slices.Index(v.lives, epoch) }
