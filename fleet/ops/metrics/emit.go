package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-301d4374/engram"
	"github.com/seed-301d4374/engram/core/meter"
)

// emitter makes metrics of values. Labels are pairs of names and values.
type emitter struct{ out chan<- prometheus.Metric }

func (e *emitter) counter(name, help string, v float64, labels ...string) {
	e.emit(name, help, prometheus.CounterValue, v, labels)
}

func (e *emitter) gauge(name, help string, v float64, labels ...string) {
	e.emit(name, help, prometheus.GaugeValue, v, labels)
}

func (e *emitter) emit(name, help string, kind prometheus.ValueType, v float64, labels []string) {
	names, values := split(labels)
	desc := prometheus.NewDesc(name, help, names, nil)
	m, err := prometheus.NewConstMetric(desc, kind, v, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err) // the rest is shown nevertheless
	}
	e.out <- m
}

func (e *emitter) histogram(name, help string, h *meter.Histogram, labels ...string) {
	names, values := split(labels)
	desc := prometheus.NewDesc(name, help, names, nil)
	upTo, count, sum := h.Read()
	buckets := make(map[float64]uint64, len(upTo))
	for i, n := range upTo {
		buckets[meter.Bound(i).Seconds()] = n
	}
	m, err := prometheus.NewConstHistogram(desc, count, sum.Seconds(), buckets, values...)
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	e.out <- m
}

func split(labels []string) (names, values []string) {
	for i := 0; i+1 < len(labels); i += 2 {
		names = append(names, labels[i])
		values = append(values, strings.ToValidUTF8(labels[i+1], "�"))
	}
	return names, values
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// segmentLabels gives core segments their labels: memory and core segment. Those beyond
// maxSegments share one.
type segmentLabels map[engram.ID][2]string

func (s segmentLabels) of(segment engram.ID) [2]string {
	l, ok := s[segment]
	if !ok {
		l = [2]string{segment.Memory(), segment.CoreSegment()}
		if len(s) >= maxSegments {
			l = [2]string{other, other}
		}
		s[segment] = l
	}
	return l
}
