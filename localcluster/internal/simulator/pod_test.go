package simulator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	now   = metav1.NewTime(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC))
	later = metav1.NewTime(now.Add(time.Hour))
)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "example", UID: "u1", Generation: 1},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:1"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	if change != nil {
		change(p)
	}
	return p
}

func TestPodStatus(t *testing.T) {
	yes := true
	always := corev1.ContainerRestartPolicyAlways
	for name, tc := range map[string]struct {
		reason string
		change func(*corev1.Pod)
		phase  corev1.PodPhase // empty: nothing is written
		ready  corev1.ConditionStatus
	}{
		"Fresh": {
			reason: "a Deployment is available only when its Pods are Ready",
			phase:  corev1.PodRunning, ready: corev1.ConditionTrue,
		},
		"OfJob": {
			reason: "a Job completes when its Pods have succeeded",
			change: func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Controller: &yes}}
			},
			phase: corev1.PodSucceeded, ready: corev1.ConditionFalse,
		},
		"ReadinessGate": {
			reason: "nobody else would answer the gate, and the Pod is Ready only with it",
			change: func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}
			},
			phase: corev1.PodRunning, ready: corev1.ConditionTrue,
		},
		"Sidecar": {
			reason: "an init container that restarts always keeps running",
			change: func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}}
			},
			phase: corev1.PodRunning, ready: corev1.ConditionTrue,
		},
		"Gated": {
			reason: "a Pod with a scheduling gate waits for its author, as with a real scheduler",
			change: func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} },
		},
		"Going": {
			reason: "a Pod that is being deleted is not brought up again",
			change: func(p *corev1.Pod) { p.DeletionTimestamp = &now },
		},
		"Failed": {
			reason: "an ended Pod stays ended",
			change: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(tc.change)
			status, changed := PodStatus(p, now)
			if changed != (tc.phase != "") {
				t.Fatalf("%s: written is %v", tc.reason, changed)
			}
			if !changed {
				return
			}
			if status.Phase != tc.phase {
				t.Errorf("%s: phase %s, want %s", tc.reason, status.Phase, tc.phase)
			}
			for _, c := range status.Conditions {
				if c.Type == corev1.PodReady && c.Status != tc.ready {
					t.Errorf("%s: Ready=%s, want %s", tc.reason, c.Status, tc.ready)
				}
				if c.Reason != Reason {
					t.Errorf("condition %s does not say that it is simulated: %q", c.Type, c.Reason)
				}
			}
			p.Status = *status
			if again, changed := PodStatus(p, later); changed {
				t.Errorf("a second look writes again:\n%s", cmp.Diff(p.Status, *again))
			}
		})
	}
}

func TestPodContainers(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	p := pod(func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "busybox"}, {Name: "sidecar", RestartPolicy: &always}}
	})
	status, _ := PodStatus(p, now)
	got := map[string]bool{} // running
	for _, c := range append(status.InitContainerStatuses, status.ContainerStatuses...) {
		got[c.Name] = c.State.Running != nil
		if !c.Ready {
			t.Errorf("container %s is not ready", c.Name)
		}
	}
	want := map[string]bool{"init": false, "sidecar": true, "nginx": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("running containers (-want +got):\n%s", d)
	}
}

func TestGone(t *testing.T) {
	if Gone(pod(nil)) {
		t.Error("a living Pod is not gone")
	}
	if !Gone(pod(func(p *corev1.Pod) { p.DeletionTimestamp = &now })) {
		t.Error("a Pod whose deletion nobody else confirms is gone")
	}
	if Gone(pod(func(p *corev1.Pod) { p.DeletionTimestamp = &now; p.Finalizers = []string{"x"} })) {
		t.Error("a Pod with a finalizer waits for it")
	}
}
