package definition

import (
	"testing"
	"time"

	kschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind that comes without a CRD (from an aggregated API) is looked for within seconds while it is expected, and every five minutes when it has not come for
// long.
func TestMissingKindIsLookedForOftenAtFirst(t *testing.T) {
	w := newWorld(t)
	w.bad["a"] = true
	w.missing = map[string]kschema.GroupVersionKind{"a": {Group: "metrics.example.com", Version: "v1", Kind: "Metric"}}
	w.apply(definition("shop", "one", "a"))
	w.settle("shop")
	var after []time.Duration
	for _, wait := range []time.Duration{0, 20 * time.Second, 2 * time.Minute, time.Hour} {
		w.clock.SetTime(w.clock.Now().Add(wait))
		result, _, _ := w.reconcile("shop")
		after = append(after, result.RequeueAfter)
	}
	equal(t, "looked for again after", []time.Duration{5 * time.Second, 10 * time.Second, 70 * time.Second, 5 * time.Minute}, after)

	w.missing = nil
	result, _, _ := w.reconcile("shop")
	equal(t, "another fault is not tried again", time.Duration(0), result.RequeueAfter)
	w.bad["a"] = false
	w.settle("shop")
	equal(t, "once the kind is there", "True/Ready@1 ", w.condition("shop", ready))
}

// The revision that is to be served is looked after as well, when the document itself has another fault.
func TestMissingKindOfARevisionIsLookedForToo(t *testing.T) {
	w := newWorld(t)
	w.missing = map[string]kschema.GroupVersionKind{"a": {Group: "metrics.example.com", Version: "v1", Kind: "Metric"}}
	w.apply(definition("shop", "one", "a"))
	w.settle("shop")
	w.apply(definition("shop", "two", "bad"))
	w.settle("shop")
	w.bad["a"] = true
	w.restart()
	result, _, _ := w.reconcile("shop")
	equal(t, "looked for again after", 5*time.Second, result.RequeueAfter)
	equal(t, "nothing to serve with", true, w.served["shop"].Program == nil)
	w.bad["a"] = false
	w.settle("shop")
	equal(t, "served once the kind is there", 1, w.served["shop"].Revision)
}
