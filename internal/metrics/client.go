package metrics

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

// The metrics of kro's requests to the API server. controller-runtime has some of the same name with other labels, and leaves them unregistered.
type client struct {
	duration, limiter, request, response *prometheus.HistogramVec
	retries                              *prometheus.CounterVec
}

var registerClient = sync.OnceFunc(func() {
	durations := prometheus.ExponentialBuckets(0.001, 2, 16)
	sizes := prometheus.ExponentialBuckets(64, 2, 16)
	c := client{
		duration: histogram("rest_client_request_duration_seconds", "Time that a request to the API server took.", durations, "verb"),
		limiter:  histogram("rest_client_rate_limiter_duration_seconds", "Time that a request waited for the client-side rate limit.", durations, "verb"),
		request:  histogram("rest_client_request_size_bytes", "Size of requests.", sizes, "verb"),
		response: histogram("rest_client_response_size_bytes", "Size of responses.", sizes, "verb"),
		retries:  counter("rest_client_request_retries_total", "Requests that were sent again.", "code", "method"),
	}
	// clientmetrics.Register has been used up by controller-runtime's own init, so the variables are set directly.
	clientmetrics.RequestLatency = latency{c.duration}
	clientmetrics.RateLimiterLatency = latency{c.limiter}
	clientmetrics.RequestSize = size{c.request}
	clientmetrics.ResponseSize = size{c.response}
	clientmetrics.RequestRetry = retry{c.retries}
})

// RegisterClient begins to measure the requests of client-go. It must be called before the first client is made, and may be called again.
func RegisterClient() { registerClient() }

type latency struct{ *prometheus.HistogramVec }

// Observe implements clientmetrics.LatencyMetric.
func (l latency) Observe(_ context.Context, verb string, _ url.URL, took time.Duration) {
	observe(l.HistogramVec, took, verb)
}

type size struct{ *prometheus.HistogramVec }

// Observe implements clientmetrics.SizeMetric.
func (s size) Observe(_ context.Context, verb, _ string, bytes float64) {
	s.WithLabelValues(verb).Observe(bytes)
}

type retry struct{ *prometheus.CounterVec }

// IncrementRetry implements clientmetrics.RetryMetric.
func (r retry) IncrementRetry(_ context.Context, code, method, _ string) {
	r.WithLabelValues(code, method).Inc()
}
