package ltm

import "slices"

// Hosted is a memory that a program hosts, or has hosted.
type Hosted struct {
	Memory  string `json:"memory"`
	Program string `json:"program"`           // what errors call it
	Commits bool   `json:"commits,omitempty"` // its program has to see what is committed
}

// Hosted returns the memories that programs have hosted: the working memory must have them
// before Begin.
func (p *past) Hosted() []Hosted { return slices.Clone(p.state.content().Hosted) }

// NoteHosted notes that a program hosts a memory.
func (p *past) NoteHosted(h Hosted) error {
	if slices.Contains(p.Hosted(), h) {
		return nil
	}
	return p.state.change(func(c *stateContent) {
		c.Hosted = slices.DeleteFunc(slices.Clone(c.Hosted), func(old Hosted) bool { return old.Memory == h.Memory })
		c.Hosted = append(c.Hosted, h)
	})
}
