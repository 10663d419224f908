package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	kschema "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kro.run/kro/test/cluster"
)

// Each kind of instances has a source of events of its own, by which they are told apart, and both fields that tools read name it.
func TestEventsNameTheirKind(t *testing.T) {
	c := cluster.Of(t)
	c.Kro(t, "--feature-gates=InstanceConditionEvents=true")
	ns := c.Namespace(t)
	for _, name := range []string{"eventful", "lively"} {
		kind := kschema.GroupVersionKind{Group: name + ".example.com", Version: "v1alpha1", Kind: "Good"}
		define(t, c, fill(goodDefinition, name))
		instance(t, c, ns, kind, name)
		state(t, c, kind, ns, name, "ACTIVE")
		cluster.Eventually(t, "all events of "+name, func(ctx context.Context) error {
			events := &corev1.EventList{}
			if err := c.Client.List(ctx, events, client.InNamespace(ns)); err != nil {
				return err
			}
			var told []string
			for _, e := range events.Items {
				if e.InvolvedObject.Name != name {
					continue
				}
				if want := "kro/goods." + name + ".example.com-controller"; e.Source.Component != want || e.ReportingController != want {
					return cluster.Never(fmt.Errorf("source %q, reporting controller %q, want %q", e.Source.Component, e.ReportingController, want))
				}
				told = append(told, strings.Join([]string{e.Type, e.Reason, e.Message}, " "))
			}
			for _, want := range []string{
				"Normal InstanceManaged none -> True: Managed", "Normal GraphResolved none -> True: Resolved",
				"Normal ResourcesReady none -> True: AllResourcesReady", "Normal Ready none -> True: Ready",
			} {
				if !slices.Contains(told, want) {
					return fmt.Errorf("no event %q in %q", want, told)
				}
			}
			return nil
		})
	}
}

// A controller that is told to end does so with exit code 0 and gives its lease up, so that the next one need not wait for it to run out.
func TestLeaseIsGivenUp(t *testing.T) {
	c := cluster.Of(t)
	ns := c.Namespace(t)
	kro := c.Kro(t, "--leader-elect", "--leader-election-namespace="+ns)
	holder := func(ctx context.Context) (string, error) {
		lease := &coordinationv1.Lease{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "controller.kro.run"}, lease)
		if err != nil || lease.Spec.HolderIdentity == nil {
			return "", err
		}
		return *lease.Spec.HolderIdentity, nil
	}
	cluster.Eventually(t, "the lease is held", func(ctx context.Context) error {
		identity, err := holder(ctx)
		if err == nil && identity == "" {
			return fmt.Errorf("nobody holds it")
		}
		return err
	})
	kro.Stop()
	if identity, err := holder(t.Context()); err != nil || identity != "" {
		t.Errorf("after the end the lease is held by %q, error %v", identity, err)
	}
	kro.Start()
}

// What dashboards show is there once a definition and an instance have been served, under the labels that they know.
func TestMetricsAreWritten(t *testing.T) {
	c := cluster.Of(t)
	kro := c.Kro(t)
	ns := c.Namespace(t)
	kind := kschema.GroupVersionKind{Group: "measured.example.com", Version: "v1alpha1", Kind: "Good"}
	define(t, c, fill(goodDefinition, "measured"))
	instance(t, c, ns, kind, "one")
	state(t, c, kind, ns, "one", "ACTIVE")
	cluster.Eventually(t, "the metrics", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+kro.Metrics+"/metrics", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		for _, want := range []string{
			`dynamic_controller_reconcile_total{gvr="measured.example.com/v1alpha1/goods"}`,
			`dynamic_controller_instance_watch_count{parent_gvr="measured.example.com/v1alpha1, Resource=goods"} 1`,
			`dynamic_controller_watch_request_count{gvr="/v1, Resource=configmaps",type="collection"} `,
			`dynamic_controller_gvr_count `, `dynamic_controller_handler_count_total{type="parent"} `,
			`instance_state_transitions_total{from_state="",gvr="measured.example.com/v1alpha1, Kind=Good",to_state="ACTIVE"} 1`,
			`instance_reconcile_total{gvr="measured.example.com/v1alpha1, Resource=goods"}`,
			`instance_graph_resolution_success_total{gvr="measured.example.com/v1alpha1, Resource=goods"}`,
			`instance_condition_current_status_seconds{condition_status="True",condition_type="Ready",gvr="measured.example.com/v1alpha1, Resource=goods",name="one",namespace="` + ns + `",reason="Ready"}`,
			`rgd_graph_build_total{name="measured"} 1`, `rgd_state_transitions_total{from="",name="measured",to="Active"} 1`,
			`rgd_graph_revision_issue_total{reason="no_revision"}`, `graph_revision_compile_total{result="success"}`, `graph_revision_registry_entries{state="active"} `,
			"\nrgd_graph_revision_gc_deleted_total 0", "\ngraph_revision_finalizer_evictions_total 0", "\nschema_resolver_errors_total 0",
			"\nruntime_creation_total ", "\nruntime_creation_duration_seconds_count ", "\nruntime_node_eval_total ", "\nruntime_node_eval_errors_total 0",
			"\nruntime_node_eval_duration_seconds_count ", "\nruntime_node_ready_check_total ", "\nruntime_node_ignored_check_total ",
			"\ncel_expr_eval_total ", "\ncel_expr_eval_duration_seconds_count ",
			`rest_client_request_duration_seconds_count{verb="PATCH"}`, `name="dynamic-controller-queue"`,
		} {
			if !strings.Contains(string(body), want) {
				line, _, _ := strings.Cut(want, "{")
				var have []string
				for _, l := range strings.Split(string(body), "\n") {
					if strings.HasPrefix(l, strings.TrimSpace(line)) {
						have = append(have, l)
					}
				}
				return fmt.Errorf("no %s in\n%s", want, strings.Join(have, "\n"))
			}
		}
		return nil
	})
}
