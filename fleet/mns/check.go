package mns

import (
	"slices"
	"strings"

	"github.com/seed-301d4374/engram"
)

// Check returns an Invalid or Exhausted error that names what is wrong with the
// registration.
func (r Registration) Check() error {
	switch {
	case r.Server == "":
		return engram.Errorf(engram.Invalid, "", "the registration does not identify its server")
	case len(r.Memories) == 0 && len(r.Copies) == 0:
		return engram.Errorf(engram.Invalid, short(r.Server), "the registration names no memory")
	case len(r.Addresses) == 0:
		return engram.Errorf(engram.Invalid, short(r.Server), "the registration has no address")
	case len(r.Memories) > MaxMemories:
		return engram.Errorf(engram.Exhausted, short(r.Server), "the registration names %d memories; at most %d are allowed", len(r.Memories), MaxMemories)
	case len(r.Copies) > MaxMemories:
		return engram.Errorf(engram.Exhausted, short(r.Server), "the registration names copies of %d memories; at most %d are allowed", len(r.Copies), MaxMemories)
	case len(r.Addresses) > MaxAddresses:
		return engram.Errorf(engram.Exhausted, short(r.Server), "the registration has %d addresses; at most %d are allowed", len(r.Addresses), MaxAddresses)
	}
	for _, text := range append([]string{r.Server}, r.Addresses...) {
		if text == "" || len(text) > MaxText {
			return engram.Errorf(engram.Invalid, short(r.Server), "%q cannot identify a server or be an address: it must have 1 to %d bytes", short(text), MaxText)
		}
	}
	for _, m := range slices.Concat(r.Memories, r.Copies) {
		if err := engram.CheckName(m); err != nil {
			return engram.Errorf(engram.Invalid, short(r.Server), "a memory cannot be registered: %w", err)
		}
	}
	return nil
}

// Unknown is the NotFound error for a name that is not registered; known are those
// that are.
func Unknown(memory string, known []string) error {
	others := "none is"
	if len(known) > 0 {
		others = "registered are " + short(strings.Join(known, ", "))
	}
	return engram.Errorf(engram.NotFound, short(memory), "no memory of this name is registered; %s", others)
}

// Taken is the Conflict error for a name of a registration that another server holds.
func Taken(held Entry, r Registration) error {
	advice := "; stop that server, host other memories here (--memory), or have this server stand by for it (--standby)"
	if r.Standby {
		advice = ""
	}
	return engram.Errorf(engram.Conflict, held.Memory, "the memory is hosted by server %q at %s%s", held.Server, strings.Join(held.Addresses, ", "), advice)
}

func short(s string) string {
	if len(s) > 80 {
		return s[:77] + "…"
	}
	return s
}
