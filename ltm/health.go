package ltm

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
)

// health knows what does not work just now.
type health struct {
	log *slog.Logger
	mu  struct {
		sync.Mutex
		wrong map[string]error // by what it is about
	}
}

// set notes that something does not work, or with nil that it works again; changes
// are logged.
func (h *health) set(what string, err error) {
	h.mu.Lock()
	had := h.mu.wrong[what]
	if err == nil {
		delete(h.mu.wrong, what)
	} else {
		if h.mu.wrong == nil {
			h.mu.wrong = map[string]error{}
		}
		h.mu.wrong[what] = err
	}
	h.mu.Unlock()
	switch {
	case had == nil && err != nil:
		h.log.Error("the long-term memory has trouble", "what", what, "error", err)
	case had != nil && err == nil:
		h.log.Info("the long-term memory works again", "what", what)
	}
}

// list says what is wrong, sorted.
func (h *health) list() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, what := range slices.Sorted(maps.Keys(h.mu.wrong)) {
		out = append(out, what+": "+h.mu.wrong[what].Error())
	}
	return out
}
