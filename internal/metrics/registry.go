package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// slow are the buckets of everything that may wait for an API server, in seconds.
var slow = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 20, 25, 30, 45, 60, 120}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	ctrlmetrics.Registry.MustRegister(c)
	if len(labels) == 0 {
		c.WithLabelValues() // there from the start: a rate over a counter that appears with its first count misses that one
	}
	return c
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	ctrlmetrics.Registry.MustRegister(g)
	if len(labels) == 0 {
		g.WithLabelValues()
	}
	return g
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	ctrlmetrics.Registry.MustRegister(h)
	return h
}

// observe records a duration in seconds, the unit of every duration here.
func observe(h *prometheus.HistogramVec, took time.Duration, labels ...string) {
	h.WithLabelValues(labels...).Observe(took.Seconds())
}

// slashed is the spelling of the gvr label in the metrics of the instance queue: group/version/resource.
func slashed(gvr kschema.GroupVersionResource) string {
	return gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
}
