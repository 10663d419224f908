package simulator

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceStatus gives a Service of type LoadBalancer an address and a name, and
// takes them from one whose type has changed. The second result is false when
// nothing is to be written.
func ServiceStatus(service *corev1.Service) (*corev1.ServiceStatus, bool) {
	have := service.Status.LoadBalancer.Ingress
	wants := service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.DeletionTimestamp == nil && service.Spec.LoadBalancerClass == nil
	status := service.Status.DeepCopy()
	switch {
	case wants && len(have) == 0:
		mode := corev1.LoadBalancerIPModeVIP
		status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: loadBalancerAddress(service.UID), IPMode: &mode, Hostname: hostname(service)}}
	case service.Spec.Type != corev1.ServiceTypeLoadBalancer && len(have) > 0 && simulated(have[0].IP):
		status.LoadBalancer.Ingress = nil
	default:
		return nil, false
	}
	return status, true
}

// IngressStatus gives every Ingress an address and a name, whatever its class.
// The second result is false when it has one.
func IngressStatus(ingress *networkingv1.Ingress) (*networkingv1.IngressStatus, bool) {
	if ingress.DeletionTimestamp != nil || len(ingress.Status.LoadBalancer.Ingress) > 0 {
		return nil, false
	}
	status := ingress.Status.DeepCopy()
	status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: loadBalancerAddress(ingress.UID), Hostname: hostname(ingress)}}
	return status, true
}

// hostname is a name under .test, which no DNS serves (RFC 6761). Graphs read
// the address of a load balancer by IP or by name, depending on the cloud they
// were written for, so both are given.
func hostname(object metav1.Object) string {
	name := object.GetName() + "." + object.GetNamespace() + ".simulated.test"
	if len(name) > 253 {
		return ""
	}
	return name
}

func simulated(address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && loadBalancerRange.Contains(ip)
}
