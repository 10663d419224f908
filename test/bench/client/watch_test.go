package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// serve gives a client of a server that answers watches with the given messages, one answer after the other, and notes the
// versions that it was asked for.
func serve(t *testing.T, answers ...string) (*Client, *[]string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("resourceVersion"))
		fmt.Fprint(w, answers[min(len(asked), len(answers))-1])
	}))
	t.Cleanup(server.Close)
	c, err := New(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

func message(kind, name, version string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"metadata":{"name":%q,"resourceVersion":%q}}}`+"\n", kind, name, version)
}

func TestAWatchThatTheServerEndsGoesOnWhereItWas(t *testing.T) {
	c, asked := serve(t, message("ADDED", "a", "11")+message("MODIFIED", "a", "12"), message("DELETED", "b", "13"))
	var seen []string
	err := c.WatchFrom(t.Context(), "/api/v1/things", "10", func(change Change) bool {
		seen = append(seen, fmt.Sprint(change.Metadata.Name, change.Metadata.ResourceVersion, change.Deleted))
		return change.Deleted
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a11false", "a12false", "b13true"}, seen); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10", "12"}, *asked); diff != "" {
		t.Errorf("versions asked for (-want +got):\n%s", diff)
	}
}

func TestAWatchThatMissedSomethingFails(t *testing.T) {
	c, _ := serve(t, `{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version"}}`+"\n")
	err := c.WatchFrom(t.Context(), "/api/v1/things", "10", func(Change) bool { return false })
	if err == nil || !strings.Contains(err.Error(), "too old resource version") {
		t.Errorf("WatchFrom = %v, want what the server said", err)
	}
}

func TestAWatchEndsWithItsContext(t *testing.T) {
	c, _ := serve(t, message("ADDED", "a", "11"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("the controller died")
	err := c.WatchFrom(ctx, "/api/v1/things", "10", func(Change) bool { cancel(cause); return false })
	if err == nil || !strings.Contains(err.Error(), cause.Error()) {
		t.Errorf("WatchFrom = %v, want the cause", err)
	}
}

func TestPaths(t *testing.T) {
	for want, got := range map[string]string{
		"/api/v1/namespaces/n/configmaps/c":               Path(resource("", "configmaps"), "n", "c"),
		"/apis/apps/v1/deployments":                       Path(resource("apps", "deployments"), ""),
		"/apis/apps/v1/namespaces/n/deployments/d/status": Path(resource("apps", "deployments"), "n", "d", "status"),
	} {
		if got != want {
			t.Errorf("Path = %s, want %s", got, want)
		}
	}
}

func TestTroubles(t *testing.T) {
	var item Item
	item.Status.State = "ERROR"
	item.Status.Conditions = []Condition{{Type: "Ready", Status: "False", Reason: "NotReady", Message: "no"}, {Type: "GraphResolved", Status: "True"}}
	if want := `state "ERROR"; Ready=False NotReady: no`; item.Troubles() != want {
		t.Errorf("Troubles() = %s, want %s", item.Troubles(), want)
	}
	if item.Is("Ready") || !item.Is("GraphResolved") {
		t.Error("Is does not follow the conditions")
	}
}

func resource(group, plural string) kschema.GroupVersionResource {
	return kschema.GroupVersionResource{Group: group, Version: "v1", Resource: plural}
}
