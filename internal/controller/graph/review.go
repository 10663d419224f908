package graph

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"kro.run/kro/internal/executor"
)

// Informers run as the controller, which may see more than the account of a Graph. So before a Graph reads through one, the server is asked, as that
// account, whether it might watch the same by itself. A yes is believed for a while; a no is asked again at the next try.
const (
	reviewFor  = time.Minute
	maxReviews = 4096
)

var reviewResource = kschema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}

// access is one question.
type access struct {
	user, verb string
	gvr        kschema.GroupVersionResource
	target     executor.Target
}

// reviews remembers the answers that were yes, and until when they count.
type reviews struct {
	clock   clock.WithTicker
	allowed *lru.Cache
}

func newReviews(c clock.WithTicker) *reviews { return &reviews{clock: c, allowed: lru.New(maxReviews)} }

// ask gives nil when the user may, and an error like the server's own when not.
func (r *reviews) ask(ctx context.Context, client dynamic.Interface, a access) error {
	if until, ok := r.allowed.Get(a); ok && r.clock.Now().Before(until.(time.Time)) {
		return nil
	}
	attributes := map[string]any{"verb": a.verb, "group": a.gvr.Group, "version": a.gvr.Version, "resource": a.gvr.Resource}
	if a.target.Namespace != "" {
		attributes["namespace"] = a.target.Namespace
	}
	if a.target.Name != "" {
		attributes["name"] = a.target.Name
	}
	review := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": reviewResource.GroupVersion().String(), "kind": "SelfSubjectAccessReview",
		"spec": map[string]any{"resourceAttributes": attributes},
	}}
	answer, err := client.Resource(reviewResource).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("asking whether %s may %s %s: %w", a.user, a.verb, a.gvr.GroupResource(), err)
	}
	if allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); !allowed {
		return a.refused()
	}
	r.allowed.Add(a, r.clock.Now().Add(reviewFor))
	return nil
}

// refused says who lacks which right, in the words of the server.
func (a access) refused() error {
	where := "at the cluster scope"
	if a.target.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.target.Namespace)
	}
	return apierrors.NewForbidden(a.gvr.GroupResource(), a.target.Name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", a.user, a.verb, a.gvr.Resource, a.gvr.Group, where))
}

// mayWatch tells whether a user may read what a watch would show.
func (r *reviews) mayWatch(ctx context.Context, client dynamic.Interface, user string, gvr kschema.GroupVersionResource, target executor.Target) error {
	target.Selector = "" // rights know no selectors
	for _, verb := range []string{"list", "watch"} {
		if err := r.ask(ctx, client, access{user: user, verb: verb, gvr: gvr, target: target}); err != nil {
			return err
		}
	}
	return nil
}
