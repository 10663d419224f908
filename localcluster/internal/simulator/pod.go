package simulator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reason is the reason of every condition the simulator writes.
const Reason = "Simulated"

const message = "no kubelet here: localcluster's simulator says so"

// PodStatus gives the status a kubelet would report once the Pod's images were
// pulled and its probes passed: Running and Ready, or Succeeded for a Pod of a
// Job. The second result is false when nothing is to be written: the Pod has
// that status already, has ended, is going, or is held by a scheduling gate.
func PodStatus(pod *corev1.Pod, now metav1.Time) (*corev1.PodStatus, bool) {
	if pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 || ended(pod) {
		return nil, false
	}
	status := pod.Status.DeepCopy()
	if status.StartTime == nil {
		status.StartTime = &now
	}
	if !pod.Spec.HostNetwork {
		status.PodIP = podAddress(pod.UID)
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
	status.ObservedGeneration = pod.Generation

	completes := ofJob(pod)
	status.Phase = corev1.PodRunning
	if completes {
		status.Phase = corev1.PodSucceeded
	}
	setCondition(status, corev1.PodScheduled, corev1.ConditionTrue, now)
	setCondition(status, corev1.PodInitialized, corev1.ConditionTrue, now)
	ready := conditionOf(!completes)
	setCondition(status, corev1.ContainersReady, ready, now)
	for _, gate := range pod.Spec.ReadinessGates {
		setCondition(status, gate.ConditionType, ready, now)
	}
	setCondition(status, corev1.PodReady, ready, now)

	at := *status.StartTime
	status.InitContainerStatuses = containerStatuses(pod, pod.Spec.InitContainers, at, func(c corev1.Container) bool {
		return completes || c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
	})
	status.ContainerStatuses = containerStatuses(pod, pod.Spec.Containers, at, func(corev1.Container) bool { return completes })
	return status, !equality.Semantic.DeepEqual(status, &pod.Status)
}

// Gone reports that the API server waits for a kubelet to confirm the end of
// the Pod. It does so only for Pods that name a node, which here means that
// their author named it.
func Gone(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && len(pod.Finalizers) == 0
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func ofJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

func conditionOf(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// setCondition leaves a condition that has the status already as it is, so that
// its transition time stands.
func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, value corev1.ConditionStatus, now metav1.Time) {
	wanted := corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: now, Reason: Reason, Message: message}
	for i, c := range status.Conditions {
		if c.Type != kind {
			continue
		}
		if c.Status != value {
			status.Conditions[i] = wanted
		}
		return
	}
	status.Conditions = append(status.Conditions, wanted)
}

// containerStatuses dates everything to the start of the Pod, so that a second
// look at it gives the same.
func containerStatuses(pod *corev1.Pod, containers []corev1.Container, at metav1.Time, completes func(corev1.Container) bool) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, c := range containers {
		done := completes(c)
		started := !done
		s := corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: "simulated://" + c.Image,
			ContainerID: "simulated://" + string(pod.UID) + "/" + c.Name,
			Started:     &started,
			Ready:       started || !ofJob(pod), // a completed init container counts as ready
		}
		if done {
			s.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: at, FinishedAt: at, ContainerID: s.ContainerID}
		} else {
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: at}
		}
		statuses = append(statuses, s)
	}
	return statuses
}
