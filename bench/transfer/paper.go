package main

import (
	"fmt"
	"slices"
)

// curve is a series of a figure: cells that differ in object and batch only.
type curve struct {
	name  string
	style style
	cell  cell // without kind and batch
	peer  bool // the kinds are variant trees
}

const (
	blue, sky, teal, green = "#0b4fb3", "#5b9bd5", "#0d8a8a", "#5aa02c"
	orange, red, purple    = "#e67e00", "#c8102e", "#7b3fa0"
	grey                   = "#777777"
)

// of returns the curve's cell of a kind and a batch.
func (c curve) of(kind string, batch int) cell {
	at := c.cell
	at.kind, at.batch = kind, batch
	if c.peer {
		at.kind = iceVariant + kind
	}
	return at
}

// The curves of the paper's figures, ours and the peers'.
var (
	conversion     = curve{"conversion to IDF", style{colour: grey}, cell{system: inProcess, mode: "alone", metric: metricConvert}, false}
	storage        = curve{"storage in the memory alone", style{colour: sky}, cell{system: inProcess, mode: "alone", metric: metricStore}, false}
	lookup         = curve{"look-up in the memory alone", style{colour: sky}, cell{system: inProcess, mode: "alone", metric: metricLookup}, false}
	conversionBack = curve{"conversion back", style{colour: grey}, cell{system: inProcess, mode: "alone", metric: metricConvertBack}, false}

	commitCurves = []curve{
		{"full commit, local", style{colour: blue, bold: true}, cell{system: ours + overLocal, mode: "call", metric: metricCommit}, false},
		{"full commit, rpc, Unix socket", style{colour: teal}, cell{system: ours + overUnix, mode: "call", metric: metricCommit}, false},
		{"full commit, rpc, TCP", style{colour: green}, cell{system: ours + overTCP, mode: "call", metric: metricCommit}, false},
	}
	queryCurves = []curve{
		{"full query, local", style{colour: blue, bold: true}, cell{system: ours + overLocal, mode: "call", metric: metricQuery}, false},
		{"full query, rpc, Unix socket", style{colour: teal}, cell{system: ours + overUnix, mode: "call", metric: metricQuery}, false},
		{"full query, rpc, TCP", style{colour: green}, cell{system: ours + overTCP, mode: "call", metric: metricQuery}, false},
	}

	bySubscriptionLocal = curve{"Engram, subscription with data, local", style{colour: blue, bold: true}, cell{system: ours + overLocal, mode: bySubscription, metric: metricAge}, false}
	byNotificationLocal = curve{"Engram, notification then query, local", style{colour: sky, dashed: true}, cell{system: ours + overLocal, mode: byNotification, metric: metricAge}, false}
	ageCurves           = []curve{
		bySubscriptionLocal, byNotificationLocal,
		{"Engram, subscription, rpc, Unix socket", style{colour: teal}, cell{system: ours + overUnix, mode: bySubscription, metric: metricAge}, false},
		{"Engram, notification then query, rpc, Unix socket", style{colour: teal, dashed: true}, cell{system: ours + overUnix, mode: byNotification, metric: metricAge}, false},
		{"Engram, subscription, rpc, TCP", style{colour: green}, cell{system: ours + overTCP, mode: bySubscription, metric: metricAge}, false},
		{"Engram, notification then query, rpc, TCP", style{colour: green, dashed: true}, cell{system: ours + overTCP, mode: byNotification, metric: metricAge}, false},
	}

	peerDirect    = curve{"Ice, peer to peer", style{colour: orange}, cell{system: iceDirect, mode: "hot", metric: "oneway"}, true}
	peerStorm     = curve{"IceStorm, ordered", style{colour: red}, cell{system: iceStorm, mode: "hot", metric: "oneway"}, true}
	peerUnordered = curve{"IceStorm, not ordered", style{colour: red, dashed: true}, cell{system: iceStormUnordered, mode: "hot", metric: "oneway"}, true}
	peerMemory    = curve{"a memory as ArMem works, over Ice", style{colour: purple, dashed: true}, cell{system: iceMemory, mode: "hot", metric: "oneway"}, true}
	peerRoundTrip = curve{"Ice, peer to peer, there and back", style{colour: orange}, cell{system: iceDirect, mode: "hot", metric: "rtt"}, true}
	peerQuery     = curve{"Ice, query", style{colour: orange}, cell{system: iceQuery, mode: "hot", metric: "rtt"}, true}
)

// figuresOf returns the paper's figures 12, 13 and 14.
func figuresOf(r *results) []figure {
	return []figure{
		r.figure("figure12", "Commit: from business objects to the memory's answer",
			append([]curve{conversion, storage}, append(commitCurves, peerRoundTrip)...)),
		r.figure("figure13", "Query: the newest snapshots, back to business objects",
			append([]curve{conversionBack, lookup}, append(queryCurves, peerQuery)...)),
		// The paper's comparison, with the remote ways left to the table.
		r.figure("figure14", "Age of the data when the consumer has it, with everything stored on the way in Engram",
			[]curve{bySubscriptionLocal, byNotificationLocal, ageCurves[2], peerDirect, peerStorm, peerMemory}),
	}
}

func (r *results) figure(name, title string, curves []curve) figure {
	f := figure{name: name, title: title, styles: map[string]style{}}
	for _, k := range r.kinds() {
		p := panel{title: fmt.Sprintf("%s (%s B)", k.name, thousands(k.info))}
		for _, c := range curves {
			s := series{name: c.name}
			for _, n := range r.batches() {
				if us, ok := r.p50(c.of(k.name, n)); ok {
					s.points = append(s.points, point{n, us})
				}
			}
			if len(s.points) == 0 {
				continue
			}
			p.series = append(p.series, s)
			if !slices.Contains(f.legend, c.name) {
				f.legend = append(f.legend, c.name)
				f.styles[c.name] = c.style
			}
		}
		f.panels = append(f.panels, p)
	}
	return f
}

// batches returns the sizes of the batches that were measured.
func (r *results) batches() []int {
	have := map[int]bool{}
	for c := range r.rounds {
		have[c.batch] = true
	}
	return sorted(have)
}
