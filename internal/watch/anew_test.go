package watch

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// While an API server switches a CRD to a new schema, watches show objects without the new fields. When it ends them, everything has to be read
// again: the objects have not changed, but what is known of them is wrong.
func TestSourceThatIsReadAnewSeesWhatTheOldWatchHid(t *testing.T) {
	server := newAPIServer(t)
	server.put("configmaps", configMap("ns", "a", "hidden"))
	events := newTold()
	start(t, server, quick()).Ensure(Source{GVR: configMaps, Anew: true}, "me", events.on)
	events.expect(t, "+a=hidden")
	server.do(func() {
		shown := server.objects["configmaps/ns/a"].DeepCopy()
		_ = unstructured.SetNestedField(shown.Object, "shown", "data", "v")
		server.objects["configmaps/ns/a"] = shown
	})
	server.dropWatches()
	events.expect(t, "a=hidden>a=shown")
	server.put("configmaps", configMap("ns", "a", "later"))
	events.expect(t, "a=shown>a=later")
	events.none(t)
}
