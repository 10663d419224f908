package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// ConditionStatus is a condition as instance_condition_current_status_seconds shows it.
type ConditionStatus struct {
	Type, Status, Reason string
	// Since is when the condition took its status.
	Since time.Time
}

// instanceKey is one instance of one kind.
type instanceKey struct {
	namespace, name string
}

// conditionCollector computes the age of every condition when it is asked, so that nothing has to tick. Conditions are kept by kind and instance:
// forgetting one instance costs the same with ten or with 10,000 beside it.
type conditionCollector struct {
	desc *prometheus.Desc
	now  func() time.Time

	mu    sync.Mutex
	kinds map[kschema.GroupVersionResource]map[instanceKey][]ConditionStatus
}

var _ prometheus.Collector = &conditionCollector{}

var conditionAges = newConditionCollector(time.Now)

func newConditionCollector(now func() time.Time) *conditionCollector {
	return &conditionCollector{
		desc: prometheus.NewDesc("instance_condition_current_status_seconds", "Seconds since a condition of an instance took its status.",
			[]string{"gvr", "namespace", "name", "condition_type", "condition_status", "reason"}, nil),
		now:   now,
		kinds: map[kschema.GroupVersionResource]map[instanceKey][]ConditionStatus{},
	}
}

func init() {
	ctrlmetrics.Registry.MustRegister(conditionAges)
}

// SetConditions replaces the conditions of an instance that are shown.
func SetConditions(gvr kschema.GroupVersionResource, namespace, name string, conditions []ConditionStatus) {
	conditionAges.set(gvr, instanceKey{namespace, name}, conditions)
}

// ForgetInstance drops the series of an instance that is gone.
func ForgetInstance(gvr kschema.GroupVersionResource, namespace, name string) {
	conditionAges.set(gvr, instanceKey{namespace, name}, nil)
}

func (c *conditionCollector) set(gvr kschema.GroupVersionResource, key instanceKey, conditions []ConditionStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(conditions) == 0 {
		delete(c.kinds[gvr], key)
		return
	}
	if c.kinds[gvr] == nil {
		c.kinds[gvr] = map[instanceKey][]ConditionStatus{}
	}
	c.kinds[gvr][key] = append([]ConditionStatus(nil), conditions...)
}

func (c *conditionCollector) forgetKind(gvr kschema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kinds, gvr)
}

// Describe implements prometheus.Collector.
func (c *conditionCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.desc
}

// Collect implements prometheus.Collector.
func (c *conditionCollector) Collect(ch chan<- prometheus.Metric) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for gvr, instances := range c.kinds {
		for key, conditions := range instances {
			for _, condition := range conditions {
				age := now.Sub(condition.Since).Seconds()
				ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, age,
					gvr.String(), key.namespace, key.name, condition.Type, condition.Status, condition.Reason)
			}
		}
	}
}
