package ltm

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
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

// setAll notes of all things of a kind, by their names behind its own, what does not work;
// what is not among them works, or is no more.
func (h *health) setAll(kind string, wrong map[string]error) {
	h.mu.Lock()
	known := slices.Collect(maps.Keys(h.mu.wrong))
	h.mu.Unlock()
	for _, what := range known {
		if name, of := strings.CutPrefix(what, kind); of && wrong[name] == nil {
			h.set(what, nil)
		}
	}
	for name, err := range wrong {
		h.set(kind+name, err)
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
